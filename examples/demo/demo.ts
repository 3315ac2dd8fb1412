import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { NamespaceProcess } from '../../test/netns/testbed/namespace-process.ts';
import { Testbed } from '../../test/netns/testbed/testbed.ts';
import { shopNetwork } from './shop-network.ts';

const FAIRLEAD = fileURLToPath(new URL('../../bin/fairlead', import.meta.url));
const SHOP = fileURLToPath(new URL('../shop/', import.meta.url));
const NODES = ['node1', 'node2'] as const;
const READY_TIMEOUT_MILLISECONDS = 20_000;
const POLL_MILLISECONDS = 50;

/** Who asks what to see whether the Fairlead of a node works: a pod of that node. */
const PROBERS = { node1: 'cart-1', node2: 'cart-2' } as const;

/** The shop's network with a Fairlead on both nodes, and a private copy of its manifests. */
export class Demo {
  readonly bed: Testbed;
  /** The directory both Fairleads read. */
  readonly manifests: string;
  readonly #proxies: ReadonlyMap<string, NamespaceProcess>;
  #closed: Promise<void> | undefined;

  private constructor(bed: Testbed) {
    this.bed = bed;
    this.manifests = mkdtempSync(join(tmpdir(), 'fairlead-shop-'));
    this.#proxies = new Map(NODES.map((node) => [node, new NamespaceProcess(bed.fullName(node))]));
  }

  /** Builds the network; nothing of Fairlead runs yet. Needs root. */
  static async create(): Promise<Demo> {
    const demo = new Demo(await Testbed.create(shopNetwork()));
    for (const file of readdirSync(SHOP).filter((name) => name.endsWith('.yaml'))) {
      cpSync(join(SHOP, file), join(demo.manifests, file));
    }
    return demo;
  }

  /** The command line of the Fairlead of a node. */
  command(node: string, mode: string): string[] {
    return [
      FAIRLEAD,
      '--manifests',
      this.manifests,
      '--proxy-mode',
      mode,
      '--hostname-override',
      node,
      '--cluster-cidr',
      '10.244.0.0/16,fd00:244::/32',
    ];
  }

  /** Starts both Fairleads and waits until each serves both families. Rejects with its log when one does not. */
  async startFairlead(mode: string): Promise<void> {
    for (const [node, proxy] of this.#proxies) {
      if (this.#closed !== undefined) throw new Error('the demo was closed');
      await proxy.start(this.command(node, mode));
    }
    await this.waitFor(['10.96.0.10:80', '[fd00:10:96::10]:80'], () => true);
  }

  /** Waits until requests to these addresses from a pod of each node have met an answer that `isNew` accepts. */
  async waitFor(addresses: readonly string[], isNew: (server: string) => boolean): Promise<void> {
    const deadline = performance.now() + READY_TIMEOUT_MILLISECONDS;
    const waits = NODES.flatMap((node) => addresses.map((to) => this.#waitForOne(node, to, isNew, deadline)));
    await Promise.all(waits);
  }

  /** Takes everything down; may be called at any time and more than once. */
  close(): Promise<void> {
    this.#closed ??= this.#takeDown();
    return this.#closed;
  }

  async #takeDown(): Promise<void> {
    const stops = [...this.#proxies.values()].map((proxy) => proxy.stop());
    await Promise.allSettled(stops);
    await this.bed.close().finally(() => rmSync(this.manifests, { recursive: true, force: true }));
  }

  async #waitForOne(
    node: (typeof NODES)[number],
    to: string,
    isNew: (server: string) => boolean,
    deadline: number,
  ): Promise<void> {
    for (;;) {
      const [outcome] = await this.bed.probe({ from: PROBERS[node], to, timeoutMilliseconds: 250 });
      if (outcome !== undefined && 'server' in outcome && isNew(outcome.server)) return;
      const proxy = this.#proxies.get(node);
      const crash = proxy?.crash();
      const late = performance.now() > deadline;
      if (crash !== undefined || late) {
        const what = crash ?? `does not serve ${to} after ${READY_TIMEOUT_MILLISECONDS} ms`;
        throw new Error(`Fairlead on ${node} ${what}\n${proxy?.log() ?? ''}`);
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS));
    }
  }
}
