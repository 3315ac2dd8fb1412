import type { CutStyle } from './fault.ts';
import type { ObjectStore, StoreEvent } from './object-store.ts';
import type { Resource } from './resources.ts';
import type { ResponseBody } from './response-body.ts';
import type { ObjectMatcher } from './selectors.ts';
import type { StatusBody } from './status.ts';
import type { StoredObject } from './stored-object.ts';
import type { WatchType, WireFormat } from './wire-format.ts';

export interface WatchOptions {
  readonly resource: Resource;
  readonly format: WireFormat;
  readonly matches: ObjectMatcher;
  readonly bookmarks: boolean;
  /** Events up to this version are not sent: the client has them, or claims to (a version of the future). */
  readonly after: number;
  readonly timeoutMilliseconds: number;
  readonly bookmarkIntervalMilliseconds: number;
  /** How long before the time-out the last bookmark comes; kube-apiserver uses 2 s. */
  readonly lastBookmarkMilliseconds: number;
}

const framesPerWrite = 256;

/**
 * One open watch. Changes are filtered as kube-apiserver filters them: an object that starts to match arrives as
 * ADDED, one that ceases to match as DELETED with its old content and the version of the change.
 */
export class WatchSession {
  readonly resource: Resource;
  readonly #options: WatchOptions;
  readonly #body: ResponseBody;
  readonly #store: ObjectStore;
  readonly #unsubscribe: () => void;
  readonly #onEnd: () => void;
  readonly #timers: NodeJS.Timeout[] = [];
  #held: Buffer[] | undefined;

  constructor(options: WatchOptions, body: ResponseBody, store: ObjectStore, onEnd: () => void) {
    this.resource = options.resource;
    this.#options = options;
    this.#body = body;
    this.#store = store;
    this.#onEnd = onEnd;
    this.#unsubscribe = store.subscribe(options.resource.name, (event) => this.deliver(event));
    const { timeoutMilliseconds, lastBookmarkMilliseconds, bookmarkIntervalMilliseconds } = options;
    this.#timers.push(setTimeout(() => this.end(), timeoutMilliseconds));
    if (!options.bookmarks) return;
    this.#timers.push(setInterval(() => this.bookmark(false), bookmarkIntervalMilliseconds));
    const last = timeoutMilliseconds - lastBookmarkMilliseconds;
    if (last > 0) this.#timers.push(setTimeout(() => this.bookmark(false), last));
  }

  /** Sends a change if it concerns this watch. */
  deliver(event: StoreEvent): void {
    const { after, matches, format } = this.#options;
    if (event.resourceVersion <= after) return;
    const matched = event.previous !== undefined && matches(event.previous.object);
    const match = event.type !== 'DELETED' && matches(event.current.object);
    if (!matched && !match) return;
    let type: WatchType = matched ? 'MODIFIED' : 'ADDED';
    let stored = event.current;
    if (!match) {
      type = 'DELETED';
      stored = departed(event);
    }
    this.#send(format.watchEvent(type, stored));
  }

  /**
   * Sends what comes before live changes: the objects that exist, then the bookmark that ends them if it was asked
   * for, then the changes since the client's version. The objects go out in large pieces.
   */
  sendStart(
    initial: readonly StoredObject[],
    backlog: readonly StoreEvent[],
    initialEventsEnd: boolean,
  ): void {
    const { format, matches } = this.#options;
    let pending: Buffer[] = [];
    for (const stored of initial) {
      if (!matches(stored.object)) continue;
      pending.push(format.watchEvent('ADDED', stored));
      if (pending.length < framesPerWrite) continue;
      this.#send(Buffer.concat(pending));
      pending = [];
    }
    if (pending.length > 0) this.#send(Buffer.concat(pending));
    if (initialEventsEnd) this.bookmark(true);
    for (const event of backlog) this.deliver(event);
  }

  bookmark(initialEventsEnd: boolean): void {
    const version = this.#store.resourceVersion;
    // A client that came with a version of the future hears nothing before the server gets there.
    if (version < this.#options.after) return;
    this.#send(this.#options.format.bookmark(this.resource, version, initialEventsEnd));
  }

  /** Keeps everything back until {@link release}. */
  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const frame of held) this.#body.write(frame);
  }

  /** Sends bytes that are no frame. */
  sendRaw(bytes: Buffer): void {
    this.#body.write(bytes);
  }

  /** Ends with the ERROR event for an expired version, as a server does whose history was compacted. */
  fail(status: StatusBody): void {
    this.#body.write(this.#options.format.errorEvent(status));
    this.end();
  }

  /** Breaks the connection off; with `midFrame` the first half of a bookmark goes out before. */
  cut(how: CutStyle, midFrame: boolean): void {
    const frame = this.#options.format.bookmark(this.resource, this.#store.resourceVersion, false);
    this.#body.cut(how, midFrame ? frame.subarray(0, frame.length >> 1) : undefined);
    this.dispose();
  }

  stall(): void {
    this.#body.stall();
  }

  /** Completes the answer, as at the time-out. */
  end(): void {
    this.#body.end();
    this.dispose();
  }

  /** Releases timers and the subscription; the caller does this when the client has gone. */
  dispose(): void {
    this.#unsubscribe();
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
    this.#onEnd();
  }

  #send(frame: Buffer): void {
    if (this.#held === undefined) this.#body.write(frame);
    else this.#held.push(frame);
  }
}

/** The object of a DELETED event: the old content under the version of the change. */
function departed(event: StoreEvent): StoredObject {
  if (event.type === 'DELETED' || event.previous === undefined) return event.current;
  return event.previous.at(event.resourceVersion);
}
