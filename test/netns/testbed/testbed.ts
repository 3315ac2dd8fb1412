import { patient } from '../patience.ts';
import type { RequestOutcome } from './agent-protocol.ts';
import { linkCommands, namespaceCommands } from './ip-batch.ts';
import { NamespaceAgent } from './namespace-agent.ts';
import { newNamePrefix, removeNamespaces, removeStaleNamespaces } from './namespace-names.ts';
import { runCommand } from './run-command.ts';
import { serverGroups, type Topology } from './topology.ts';

/** How long a request waits for its answer: enough for one SYN to be repeated. */
const REQUEST_TIMEOUT_MILLISECONDS = patient(1300);

/** Requests from one source of the topology. Defaults: TCP, once, each on a socket of its own. */
export interface SourceProbe {
  readonly from: string;
  /** `ip:port` or `[ip]:port`. */
  readonly to: string;
  readonly proto?: 'tcp' | 'udp' | 'http';
  readonly path?: string;
  readonly count?: number;
  readonly gapMilliseconds?: number;
  readonly inSequence?: boolean;
  /** Label of a connection that later probes of the same source and label use again. */
  readonly connection?: string;
  readonly timeoutMilliseconds?: number;
}

/** A running network of namespaces with servers that answer and sources that probe. */
export class Testbed {
  readonly topology: Topology;
  readonly #prefix: string;
  readonly #agents = new Map<string, NamespaceAgent>();
  #closed: Promise<void> | undefined;

  private constructor(topology: Topology) {
    this.topology = topology;
    this.#prefix = newNamePrefix();
  }

  /** Builds everything; what was built is removed again when a step fails. Needs root. */
  static async create(topology: Topology): Promise<Testbed> {
    await removeStaleNamespaces();
    const bed = new Testbed(topology);
    try {
      await bed.#build();
      return bed;
    } catch (error) {
      await bed.close();
      throw error;
    }
  }

  /** Name of a namespace as `ip netns` knows it. */
  fullName(ns: string): string {
    return `${this.#prefix}-${ns}`;
  }

  /** The agent of a namespace. Throws RangeError when the topology has no such namespace. */
  agent(ns: string): NamespaceAgent {
    const agent = this.#agents.get(ns);
    if (agent === undefined) throw new RangeError(`no namespace ${ns} in this test bed`);
    return agent;
  }

  /** Makes the requests of one probe. Throws RangeError when the source is unknown or lacks the address family. */
  async probe(probe: SourceProbe): Promise<RequestOutcome[]> {
    const source = this.topology.sources[probe.from];
    if (source === undefined) throw new RangeError(`no source ${probe.from} in this test bed`);
    const { host, port } = splitHostPort(probe.to);
    const bind = host.includes(':') ? source.ipv6 : source.ipv4;
    if (bind === null && (source.ipv4 ?? source.ipv6) !== null) {
      throw new RangeError(`source ${probe.from} has no address to reach ${probe.to}`);
    }
    return this.agent(source.ns).probe({
      bind,
      host,
      port,
      proto: probe.proto ?? 'tcp',
      path: probe.path ?? '/',
      count: probe.count ?? 1,
      gapMilliseconds: probe.gapMilliseconds ?? 0,
      inSequence: probe.inSequence ?? false,
      connection: probe.connection === undefined ? null : `${probe.from}/${probe.connection}`,
      timeoutMilliseconds: probe.timeoutMilliseconds ?? REQUEST_TIMEOUT_MILLISECONDS,
    });
  }

  /** Runs a program inside a namespace. Resolves to its stdout, rejects when it does not end with 0. */
  run(ns: string, argv: readonly string[], input = ''): Promise<string> {
    return runCommand(['ip', 'netns', 'exec', this.fullName(ns), ...argv], input);
  }

  /** Closes the connections of all sources and servers. */
  async resetConnections(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.reset()));
  }

  /** Ends all processes inside the namespaces and deletes them. May be called more than once. */
  close(): Promise<void> {
    this.#closed ??= this.#remove();
    return this.#closed;
  }

  async #remove(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.stop()));
    await removeNamespaces(this.topology.namespaces.map((ns) => this.fullName(ns)));
  }

  async #build(): Promise<void> {
    const { topology } = this;
    const fullName = (ns: string): string => this.fullName(ns);
    await ipBatch(topology.namespaces.map((ns) => `netns add ${fullName(ns)}`));
    for (const ns of topology.namespaces) this.#agents.set(ns, NamespaceAgent.start(fullName(ns)));
    // Link-local addresses are assigned by the kernel; without this they would be tentative for a second.
    const noDad = { 'net.ipv6.conf.default.accept_dad': 0 };
    await this.#eachNamespace((ns, agent) =>
      agent.setSysctls({ ...noDad, ...topology.sysctls['all'], ...topology.sysctls[ns] }),
    );
    await ipBatch(linkCommands(topology, fullName));
    await this.#eachNamespace((ns) => ipBatch(namespaceCommands(topology, ns), ['-n', fullName(ns)]));
    if (topology.routerFilter !== undefined) {
      await this.run('router', ['nft', '-f', '-'], `${topology.routerFilter.nft.join('\n')}\n`);
    }
    await Promise.all(
      serverGroups(topology).map(({ ns, addresses, ports, name }) =>
        this.agent(ns).listen(addresses, ports, name),
      ),
    );
  }

  async #eachNamespace(action: (ns: string, agent: NamespaceAgent) => Promise<void>): Promise<void> {
    await Promise.all([...this.#agents].map(([ns, agent]) => action(ns, agent)));
  }
}

async function ipBatch(lines: readonly string[], options: readonly string[] = []): Promise<void> {
  if (lines.length > 0) await runCommand(['ip', ...options, '-batch', '-'], `${lines.join('\n')}\n`);
}

function splitHostPort(text: string): { host: string; port: number } {
  const match = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(text);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined) throw new RangeError(`not an address and port: ${text}`);
  return { host, port: Number(match?.[3]) };
}
