import { LineProcess } from '../testbed/line-process.ts';
import type { FlowReport, FlowSpec } from './traffic.ts';
import type { TrafficRequest } from './traffic-child.ts';
import { waitUntil } from './wait-until.ts';

/** Steady traffic from one namespace while something happens to the proxy. */
export class TrafficClient {
  readonly #process: LineProcess;
  readonly #names: readonly string[];

  private constructor(started: LineProcess, names: readonly string[]) {
    this.#process = started;
    this.#names = names;
  }

  /** Starts the flows and resolves when each has been answered. `namespace` is the full name. */
  static async start(
    namespace: string,
    flows: Readonly<Record<string, FlowSpec>>,
    timeoutMilliseconds = 10_000,
  ): Promise<TrafficClient> {
    const child = LineProcess.start(namespace, new URL('./traffic-child.ts', import.meta.url));
    const client = new TrafficClient(child, Object.keys(flows));
    try {
      await client.#send({ op: 'start', flows: Object.values(flows) });
      await waitUntil(
        'all flows are answered',
        async () => ((await client.#send({ op: 'answered' })) as number[]).every((count) => count > 0),
        timeoutMilliseconds,
      );
      return client;
    } catch (error) {
      await child.stop();
      throw error;
    }
  }

  /** Ends the flows and resolves to what came of each, by name. */
  async stop(): Promise<Readonly<Record<string, FlowReport>>> {
    try {
      const reports = (await this.#send({ op: 'stop' })) as FlowReport[];
      return Object.fromEntries(this.#names.map((name, index) => [name, reports[index]!]));
    } finally {
      await this.#process.stop();
    }
  }

  #send(request: TrafficRequest): Promise<unknown> {
    return this.#process.request(request);
  }
}
