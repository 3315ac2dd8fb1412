import type { AddressInfo, Server } from 'node:net';
import type { Clock, Timer } from '../base/clock.ts';
import { joinHostPort } from '../base/ip.ts';
import type { Logger } from '../base/logger.ts';
import type { GuardedHttpServer } from './guarded-http-server.ts';
import { listenDualStack } from './listen.ts';

const RETRY_MILLISECONDS = 5000;

export interface ListenerOptions {
  /** For logs: `healthz`, `metrics`. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** `bindAddressHardFail`: give up at the first failure. */
  readonly hardFail: boolean;
}

/**
 * Keeps an address open for an HTTP server (operations 3.12). When the address cannot be opened it tries again
 * every 5 s for ever; with `hardFail` it calls `onFatal` once instead.
 */
export class PersistentListener {
  readonly #options: ListenerOptions;
  readonly #http: GuardedHttpServer;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onFatal: (error: unknown) => void;
  #server: Server | undefined;
  #retry: Timer | undefined;
  #stopped = false;

  constructor(
    options: ListenerOptions,
    dependencies: {
      readonly http: GuardedHttpServer;
      readonly clock: Clock;
      readonly logger: Logger;
      readonly onFatal: (error: unknown) => void;
    },
  ) {
    this.#options = options;
    this.#http = dependencies.http;
    this.#clock = dependencies.clock;
    this.#logger = dependencies.logger;
    this.#onFatal = dependencies.onFatal;
  }

  /** Begins to listen; resolves after the first attempt, whatever its outcome. Ends with `signal`. To be called once. */
  async start(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#stop(), { once: true });
    if (signal.aborted) this.#stop();
    await this.#attempt();
  }

  /** The address in use, or undefined while there is none. */
  get address(): AddressInfo | undefined {
    const address = this.#server?.address();
    return typeof address === 'object' && address !== null ? address : undefined;
  }

  async #attempt(): Promise<void> {
    if (this.#stopped) return;
    const { name, host, port } = this.#options;
    try {
      const server = await listenDualStack(host, port, this.#http);
      if (this.#stopped) {
        server.close();
        return;
      }
      this.#server = server;
      this.#logger.info('Listening', { server: name, address: joinHostPort(host, port) });
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (this.#stopped) return;
    const { name, host, port, hardFail } = this.#options;
    const values = { server: name, address: joinHostPort(host, port) };
    if (hardFail) {
      this.#logger.error('Cannot serve', error, values);
      this.#onFatal(error);
      return;
    }
    this.#logger.error('Cannot serve, will try again', error, {
      ...values,
      retrySeconds: RETRY_MILLISECONDS / 1000,
    });
    this.#retry = this.#clock.schedule(RETRY_MILLISECONDS, () => void this.#attempt());
  }

  #stop(): void {
    this.#stopped = true;
    this.#retry?.cancel();
    this.#server?.close();
    this.#server = undefined;
    this.#http.closeConnections();
  }
}
