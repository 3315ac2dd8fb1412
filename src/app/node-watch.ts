import type { Clock, Timer } from '../base/clock.ts';
import type { Node } from '../kube/node.ts';
import type { ObjectSink } from '../kube/object-sink.ts';

/** The last version of this node's object, and who wants to know of new ones. */
export class NodeWatch implements ObjectSink<Node> {
  readonly #nodeName: string;
  readonly #clock: Clock;
  readonly #listeners = new Set<(node: Node) => void>();
  #node: Node | undefined;
  #synced = false;
  readonly #onSynced = new Set<() => void>();

  constructor(nodeName: string, clock: Clock) {
    this.#nodeName = nodeName;
    this.#clock = clock;
  }

  /** The object as last delivered; a deleted one stays (operations 3.13). */
  get node(): Node | undefined {
    return this.#node;
  }

  set(node: Node): void {
    if (node.name !== this.#nodeName) return;
    this.#node = node;
    for (const listener of this.#listeners) listener(node);
  }

  /** A Node that is deleted stays as it was last (operations 3.13). */
  delete(): void {}

  synced(): void {
    this.#synced = true;
    for (const listener of [...this.#onSynced]) listener();
  }

  /** Calls back with each new version; returns how to stop. */
  onChange(listener: (node: Node) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Waits until the node satisfies a condition; resolves with it, or with the last version (if any) after the time, which
   * begins when `reached` resolves, or, with `untilSynced`, as soon as the source has delivered all it has.
   */
  waitFor(
    condition: (node: Node) => boolean,
    options: {
      readonly milliseconds: number;
      readonly untilSynced: boolean;
      readonly signal: AbortSignal;
      readonly reached?: Promise<void>;
    },
  ): Promise<Node | undefined> {
    const { milliseconds, untilSynced, signal, reached = Promise.resolve() } = options;
    const satisfied = () => this.#node !== undefined && condition(this.#node);
    if (signal.aborted || satisfied() || (untilSynced && this.#synced)) return Promise.resolve(this.#node);
    return new Promise((resolve) => {
      let timer: Timer | undefined;
      let finished = false;
      const finish = () => {
        finished = true;
        timer?.cancel();
        stop();
        this.#onSynced.delete(finish);
        signal.removeEventListener('abort', finish);
        resolve(this.#node);
      };
      void reached.then(() => {
        if (!finished) timer = this.#clock.schedule(milliseconds, finish);
      });
      const stop = this.onChange(() => {
        if (satisfied()) finish();
      });
      if (untilSynced) this.#onSynced.add(finish);
      signal.addEventListener('abort', finish, { once: true });
    });
  }
}
