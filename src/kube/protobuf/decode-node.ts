import { DecodeError } from '../decode-error.ts';
import { noHints } from '../endpoint-slice.ts';
import type { Mutable } from '../mutable.ts';
import type { Node, NodeAddress } from '../node.ts';
import { decodeObjectMeta, type ObjectMetaSelection } from './decode-object-meta.ts';
import type { WireReader } from './wire-reader.ts';

const selection: ObjectMetaSelection = { uid: true, allLabels: true };

/** Reads a core/v1 Node message (field numbers: k8s.io/api/core/v1/generated.proto). Throws DecodeError. */
export function decodeNode(reader: WireReader): Node {
  const podCIDRs: string[] = [];
  const addresses: NodeAddress[] = [];
  const taints: { key: string; effect: string }[] = [];
  const node: Mutable<Node> = {
    name: '',
    resourceVersion: '',
    uid: '',
    labels: {},
    podCIDRs: noHints,
    addresses,
    deletionTimestamp: undefined,
    providerID: '',
    taints,
  };
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1: {
        const meta = decodeObjectMeta(reader, selection);
        node.name = meta.name;
        node.resourceVersion = meta.resourceVersion;
        node.uid = meta.uid;
        node.labels = Object.fromEntries(meta.labels ?? []);
        node.deletionTimestamp = meta.deletionTimestamp;
        break;
      }
      case 2:
        node.providerID = decodeSpec(reader, podCIDRs, taints) ?? node.providerID;
        break;
      case 3:
        decodeStatus(reader, addresses);
        break;
      default:
        reader.skip();
    }
  }
  if (podCIDRs.length > 0) node.podCIDRs = podCIDRs;
  if (node.name === '') throw new DecodeError({ code: 'DECODE_NO_NAME', kind: 'Node' });
  return node;
}

/** Fills the lists and returns `providerID`, undefined where absent. */
function decodeSpec(
  reader: WireReader,
  podCIDRs: string[],
  taints: { key: string; effect: string }[],
): string | undefined {
  let providerID: string | undefined;
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 3:
        providerID = reader.string();
        break;
      case 5:
        taints.push(decodeTaint(reader));
        break;
      case 7:
        podCIDRs.push(reader.string());
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outer);
  return providerID;
}

function decodeTaint(reader: WireReader): { key: string; effect: string } {
  const taint = { key: '', effect: '' };
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1:
        taint.key = reader.sharedString();
        break;
      case 3:
        taint.effect = reader.sharedString();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outer);
  return taint;
}

function decodeStatus(reader: WireReader, addresses: NodeAddress[]): void {
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 5) addresses.push(decodeAddress(reader));
    else reader.skip();
  }
  reader.leave(outer);
}

function decodeAddress(reader: WireReader): NodeAddress {
  const address: Mutable<NodeAddress> = { type: '', address: '' };
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1:
        address.type = reader.sharedString();
        break;
      case 2:
        address.address = reader.string();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outer);
  return address;
}
