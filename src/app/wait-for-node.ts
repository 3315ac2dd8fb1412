import type { Invocation } from '../cli/invocation.ts';
import type { Node } from '../kube/node.ts';
import { nodeObjectIps } from '../model/node-ips.ts';
import { AppError } from './app-error.ts';
import type { NodeWatch } from './node-watch.ts';

const ADDRESSES_WAIT_MS = 30_000;
const POD_CIDRS_WAIT_MS = 300_000;

/**
 * Waits for what the start needs of the Node object (operations 3.2): its addresses, and, with `detectLocalMode: NodeCIDR`,
 * its podCIDRs. Resolves to the last version, if any, when the time is over; rejects with AppError where podCIDRs are
 * needed and missing. The time begins when the source is `reached`: while the API server is away nothing can be known of
 * the Node, and what is settled without it would stay wrong.
 */
export async function waitForNode(
  nodes: NodeWatch,
  { config, manifestsDir, nodeName }: Pick<Invocation, 'config' | 'manifestsDir' | 'nodeName'>,
  { signal, reached }: { readonly signal: AbortSignal; readonly reached: Promise<void> },
): Promise<Node | undefined> {
  // A directory has been read in full after a moment; an API server may get the Node later.
  const untilSynced = manifestsDir !== undefined;
  const wait = (condition: (node: Node) => boolean, milliseconds: number) =>
    nodes.waitFor(condition, { milliseconds, untilSynced, signal, reached });
  const node = await wait(({ addresses }) => nodeObjectIps(addresses).length > 0, ADDRESSES_WAIT_MS);
  if (config.detectLocalMode !== 'NodeCIDR' || signal.aborted) return node;
  const withCIDRs = await wait(({ podCIDRs }) => podCIDRs.length > 0, POD_CIDRS_WAIT_MS);
  if (withCIDRs === undefined) {
    throw new AppError(
      { code: 'APP_NODE_MISSING', node: nodeName },
      `timed out waiting for node ${nodeName} to exist`,
    );
  }
  if (withCIDRs.podCIDRs.length === 0) {
    const detail = { code: 'APP_NODE_WITHOUT_POD_CIDRS', node: nodeName } as const;
    throw new AppError(detail, `timed out waiting for pod CIDRs of node ${nodeName}`);
  }
  return withCIDRs;
}
