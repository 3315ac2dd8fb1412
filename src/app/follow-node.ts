import type { Logger } from '../base/logger.ts';
import type { ProxyConfiguration } from '../config/proxy-configuration.ts';
import type { Node } from '../kube/node.ts';
import { nodeObjectIps } from '../model/node-ips.ts';
import { AppError } from './app-error.ts';
import type { NodeFacts } from './node-settings.ts';
import type { NodeWatch } from './node-watch.ts';

export interface NodeFollower {
  readonly config: Pick<ProxyConfiguration, 'detectLocalMode'>;
  readonly logger: Logger;
  /** Called with the version that is known and with each new one. */
  readonly onNode: (node: Node) => void;
  /** The process has to end and start anew. */
  readonly onFatal: (error: AppError) => void;
}

/**
 * Tells of new versions of this node's object, and of changes that cannot be followed while running (operations 3.13):
 * other podCIDRs with `detectLocalMode: NodeCIDR` end the process, other addresses are logged. Returns how to stop.
 */
export function followNode(nodes: NodeWatch, facts: NodeFacts, follower: NodeFollower): () => void {
  const { config, logger, onNode, onFatal } = follower;
  let lastAddresses: readonly string[] = facts.objectIps;
  const follow = (node: Node) => {
    const addresses = nodeObjectIps(node.addresses);
    if (!sameList(addresses, lastAddresses) && !sameList(addresses, facts.objectIps)) {
      logger.warn('The addresses of the Node are others now: they count from the next start on', {
        node: node.name,
        addresses,
        inUse: facts.objectIps,
      });
    }
    lastAddresses = addresses;
    if (config.detectLocalMode === 'NodeCIDR' && !sameList(node.podCIDRs, facts.podCIDRs)) {
      onFatal(
        new AppError(
          { code: 'APP_POD_CIDRS_CHANGED', node: node.name },
          `the pod CIDRs of node ${node.name} changed from ${facts.podCIDRs} to ${node.podCIDRs}`,
        ),
      );
    }
    onNode(node);
  };
  if (nodes.node !== undefined) follow(nodes.node);
  return nodes.onChange(follow);
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
