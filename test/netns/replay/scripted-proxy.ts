import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Testbed } from '../testbed/testbed.ts';
import type { ProxyStart, ProxyUnderTest } from './proxy-under-test.ts';
import { delay } from './settle.ts';
import { markerPort } from './standing-objects.ts';

const POLL_MILLISECONDS = 10;

/** One rule set of a {@link ScriptedProxy}: statements of `table inet`-free chains, see `serviceRules`. */
export interface ScriptedRules {
  /** Statements for traffic to services, run in prerouting and output of type nat, e.g. `… dnat to …`. */
  readonly nat: readonly string[];
  /** Statements run in the filter hooks forward, input and output. */
  readonly filter?: readonly string[];
  /** Without it: what has the mark 0x4000 is masqueraded. */
  readonly masquerade?: boolean;
}

/**
 * A stand-in that loads hand-written rules with `nft`, to try the replay itself. It watches only the marker Service:
 * when its port moves to another step, the rules of that step are loaded.
 */
export class ScriptedProxy implements ProxyUnderTest {
  readonly #bed: Testbed;
  readonly #rules: (step: number) => ScriptedRules;
  #stopped: Promise<void> = Promise.resolve();
  #controller = new AbortController();
  #crash: string | undefined;
  readonly starts: ProxyStart[] = [];

  constructor(bed: Testbed, rules: (step: number) => ScriptedRules) {
    this.#bed = bed;
    this.#rules = rules;
  }

  async start(options: ProxyStart): Promise<void> {
    if (!('manifests' in options.objects)) throw new Error('the scripted proxy reads files only');
    this.starts.push(options);
    this.#controller = new AbortController();
    this.#stopped = this.#watch(options.objects.manifests, this.#controller.signal).catch((error: Error) => {
      this.#crash = error.message;
    });
  }

  async stop(): Promise<void> {
    this.#controller.abort();
    await this.#stopped;
  }

  crash(): string | undefined {
    return this.#crash;
  }

  log(): string {
    return '';
  }

  async #watch(manifests: string, signal: AbortSignal): Promise<void> {
    let loaded: number | undefined;
    while (!signal.aborted) {
      const marker = await readFile(join(manifests, 'service.default.oracle-marker.yaml'), 'utf8');
      const step = Number(/port: (\d+)/.exec(marker)?.[1]) - markerPort(0);
      if (step !== loaded) {
        await this.#bed.run('node1', ['nft', '-f', '-'], ruleset(this.#rules(step), markerPort(step)));
        loaded = step;
      }
      await delay(POLL_MILLISECONDS);
    }
  }
}

function ruleset({ nat, filter = [], masquerade = true }: ScriptedRules, port: number): string {
  const marker = [
    `ip daddr 10.96.255.250 tcp dport ${port} dnat ip to 10.244.1.4:8082`,
    `ip6 daddr fd00:10:96::fffa tcp dport ${port} dnat ip6 to [fd00:244:1::4]:8082`,
  ];
  const chain = (name: string, lines: readonly string[]): string => `chain ${name} {\n${lines.join('\n')}\n}`;
  return [
    'table inet scripted',
    'delete table inet scripted',
    'table inet scripted {',
    chain('services', [...marker, ...nat]),
    chain('refusals', filter),
    chain('prerouting', ['type nat hook prerouting priority -100;', 'jump services']),
    chain('nat-output', ['type nat hook output priority -100;', 'jump services']),
    ...['forward', 'input', 'output'].map((hook) =>
      chain(hook, [`type filter hook ${hook} priority -110;`, 'ct state new jump refusals']),
    ),
    chain('postrouting', [
      'type nat hook postrouting priority 100;',
      ...(masquerade ? ['meta mark & 0x4000 == 0x4000 masquerade fully-random'] : []),
    ]),
    '}',
  ].join('\n');
}
