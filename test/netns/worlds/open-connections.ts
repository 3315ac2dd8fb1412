import type { Testbed } from '../testbed/testbed.ts';
import type { WorldProbe } from './world-probes.ts';

/** Connections kept over all changes of a world; more would make its steps slow. */
const MOST = 20;
const OPENED_PER_STEP = 4;

/** TCP connections that stay open while the world changes: whatever is programmed, they must go on. */
export class OpenConnections {
  readonly #bed: Testbed;
  readonly #open: { readonly probe: WorldProbe; readonly label: string; readonly server: string }[] = [];

  constructor(bed: Testbed) {
    this.#bed = bed;
  }

  /** Sends on every connection. Resolves to those that are not answered by the same server as ever. */
  async check(): Promise<{ readonly probe: WorldProbe; readonly got: string }[]> {
    const answers = await Promise.all(
      this.#open.map(async ({ probe, label, server }) => {
        const got = await this.#ask(probe, label);
        return got === server
          ? []
          : [{ probe, got: `on a connection that ${server} answered before: ${got}` }];
      }),
    );
    return answers.flat();
  }

  /** Opens a few connections like these probes, which were answered. */
  async add(probes: readonly WorldProbe[]): Promise<void> {
    const answered = probes.filter(({ proto, expected }) => proto === 'tcp' && 'servers' in expected);
    const room = Math.min(OPENED_PER_STEP, MOST - this.#open.length);
    for (const probe of answered.slice(0, room)) {
      const label = `open-${this.#open.length}`;
      this.#open.push({ probe, label, server: await this.#ask(probe, label) });
    }
  }

  async #ask({ from, to }: WorldProbe, connection: string): Promise<string> {
    const [outcome] = await this.#bed.probe({ from, to, connection });
    if (outcome === undefined || 'status' in outcome) return 'nothing';
    return 'server' in outcome ? outcome.server : outcome.failure;
  }
}
