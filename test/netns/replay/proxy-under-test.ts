import type { ObjectFeed } from './object-feed.ts';
import type { ReplayMode } from './scenario.ts';

export interface ProxyStart {
  readonly mode: ReplayMode;
  /** A complete KubeProxyConfiguration. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly objects: ObjectFeed['location'];
}

/** A proxy that programs the namespace `node1` of a test bed. */
export interface ProxyUnderTest {
  /** Starts it; need not wait until it has programmed anything. It must not run yet. */
  start(options: ProxyStart): Promise<void>;
  /** Ends it the way an operator does (SIGTERM) and waits; its rules stay. Harmless when it does not run. */
  stop(): Promise<void>;
  /** Why it ended by itself, with what it printed last; undefined while it runs or after `stop`. */
  crash(): string | undefined;
  /** What it printed since the last `start`. */
  log(): string;
}
