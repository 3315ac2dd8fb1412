import { addressFamily } from '../netlink/address-family.ts';
import { AttributeWriter, align4 } from '../netlink/attribute-writer.ts';
import { beginNetfilterMessage, endMessage, NLM_F_REQUEST, netfilterType } from '../netlink/message.ts';
import {
  CTA_ID,
  CTA_TUPLE_ORIG,
  CTA_ZONE,
  IPCTNL_MSG_CT_DELETE,
  NFNL_SUBSYS_CTNETLINK,
} from './conntrack-attributes.ts';
import type { ConntrackFlow, FlowTuple } from './conntrack-flow.ts';
import { encodeTuple } from './conntrack-message.ts';

/** Even if the kernel refuses all messages of a chunk, its answers fit the receive queue. */
const CHUNK_LENGTH = 2048;

const DELETE = netfilterType(NFNL_SUBSYS_CTNETLINK, IPCTNL_MSG_CT_DELETE);

/** Delete messages numbered from 0, ready to be sent once they are renumbered. */
export interface DeletionChunk {
  readonly writer: AttributeWriter;
  count: number;
}

/** Flows to be deleted, already in the form in which they go to the kernel (some 80 bytes each). */
export class FlowDeletions {
  readonly chunks: DeletionChunk[] = [];
  size = 0;

  /** Adds the flow that a view shows now. Its id goes along, so a later flow with the same addresses is safe. */
  add(flow: ConntrackFlow): void {
    const { bytes, originalTupleStart, originalTupleEnd, zone, id } = flow;
    const { writer, count } = this.#chunk();
    const header = { type: DELETE, flags: NLM_F_REQUEST, sequence: count };
    const token = beginNetfilterMessage(writer, header, addressFamily(flow.family));
    const at = writer.reserve(align4(originalTupleEnd - originalTupleStart));
    bytes.copy(writer.bytes, at, originalTupleStart, originalTupleEnd);
    if (zone !== 0) writer.addU16be(CTA_ZONE, zone);
    if (id !== 0) writer.addU32be(CTA_ID, id);
    endMessage(writer, token);
    this.#count();
  }

  /** Adds whatever flow has this original direction in a zone. Throws RangeError when an address is not canonical. */
  addTuple(original: FlowTuple, zone = 0): void {
    const { writer, count } = this.#chunk();
    const family = addressFamily(original.source.includes(':') ? 'IPv6' : 'IPv4');
    const header = { type: DELETE, flags: NLM_F_REQUEST, sequence: count };
    const token = beginNetfilterMessage(writer, header, family);
    encodeTuple(writer, CTA_TUPLE_ORIG, original);
    if (zone !== 0) writer.addU16be(CTA_ZONE, zone);
    endMessage(writer, token);
    this.#count();
  }

  clear(): void {
    this.chunks.length = 0;
    this.size = 0;
  }

  #chunk(): DeletionChunk {
    let chunk = this.chunks.at(-1);
    if (chunk === undefined || chunk.count === CHUNK_LENGTH) {
      chunk = { writer: new AttributeWriter(4096), count: 0 };
      this.chunks.push(chunk);
    }
    return chunk;
  }

  #count(): void {
    this.chunks.at(-1)!.count++;
    this.size++;
  }
}
