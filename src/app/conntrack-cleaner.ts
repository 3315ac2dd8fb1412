import { mayHaveStaleFlows } from '../dataplane/conntrack/flow-frontends-of.ts';
import { ProgrammedServicePorts } from '../dataplane/conntrack/programmed-service-ports.ts';
import type { ConntrackConnection } from '../kernel/conntrack/conntrack-connection.ts';
import type { CompletedSync } from '../sync/sync-observer.ts';
import { FlowPasses, type FlowPassesDependencies } from './flow-passes.ts';

/**
 * Removes stale flows of one family after the syncs that may have made them stale (spec A.4). UDP does not wait for the
 * time that connections have to be answered, so each kind has passes, and a connection to the kernel, of its own.
 */
export class ConntrackCleaner {
  readonly #programmed = new ProgrammedServicePorts();
  readonly #datagrams: FlowPasses;
  readonly #connections: FlowPasses;

  /** `open` opens the conntrack table; throws what it throws. */
  constructor(open: () => ConntrackConnection, dependencies: FlowPassesDependencies) {
    this.#datagrams = new FlowPasses('datagrams', open(), dependencies);
    this.#connections = new FlowPasses('connections', open(), dependencies);
  }

  /** To be told of each sync that ended well. Never throws. */
  synced({ plan, changes, udpEndpointsChanged }: CompletedSync): void {
    const diff = this.#programmed.update(plan, changes);
    // After a full sync anything may be in the kernel that was not before: others may have removed our rules.
    const isFull = changes === undefined;
    if (isFull || udpEndpointsChanged || mayHaveStaleFlows(diff, 'datagrams'))
      this.#datagrams.request(plan, diff);
    if (isFull || mayHaveStaleFlows(diff, 'connections')) this.#connections.request(plan, diff);
  }

  /** Ends passes that are under way. */
  close(): void {
    this.#datagrams.close();
    this.#connections.close();
  }
}
