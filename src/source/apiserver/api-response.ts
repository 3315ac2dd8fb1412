import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { ApiError } from './api-error.ts';

export interface ApiResponseContext {
  readonly clock: Clock;
  readonly path: string;
  readonly server: string;
  /** Called with the size of a body that was read to its end. */
  readonly finished: (bytes: number) => void;
}

const bodySilenceMs = 60_000;

/** The answer to a request, its body not yet read. */
export class ApiResponse {
  readonly #message: IncomingMessage;
  readonly #context: ApiResponseContext;

  constructor(message: IncomingMessage, context: ApiResponseContext) {
    this.#message = message;
    this.#context = context;
    // A body that nobody reads must not bring the process down when its connection fails.
    message.on('error', () => {});
  }

  /** Media type with its parameters, `''` where the server names none. */
  get contentType(): string {
    return this.#message.headers['content-type'] ?? '';
  }

  header(name: string): string | undefined {
    const value = this.#message.headers[name];
    return typeof value === 'string' ? value : undefined;
  }

  /**
   * Hands over the body as it arrives; resolves at its end. What `onChunk` throws ends the reading and is passed on.
   * Rejects with ApiError API_CONNECTION when the connection is cut, API_SILENT when nothing arrives for `silenceMs()`.
   */
  async read(onChunk: (chunk: Buffer) => void, silenceMs: () => number = () => bodySilenceMs): Promise<void> {
    const { clock, path, server, finished } = this.#context;
    let bytes = 0;
    let lastByte = clock.monotonic();
    let timer = clock.schedule(silenceMs(), check);
    const message = this.#message;
    let silence: ApiError | undefined;
    function check(): void {
      const limit = silenceMs();
      const left = lastByte + limit - clock.monotonic();
      if (left > 0) {
        timer = clock.schedule(left, check);
        return;
      }
      silence = new ApiError({ code: 'API_SILENT', path, milliseconds: limit });
      message.destroy(silence);
    }
    let handing = false;
    try {
      for await (const chunk of message) {
        lastByte = clock.monotonic();
        bytes += (chunk as Buffer).length;
        handing = true;
        onChunk(chunk as Buffer);
        handing = false;
      }
    } catch (cause) {
      if (handing) throw cause;
      throw silence ?? new ApiError({ code: 'API_CONNECTION', path, server }, { cause });
    } finally {
      timer.cancel();
    }
    finished(bytes);
  }

  /** The whole body, cut after `maxBytes`; what arrived before the connection failed, if it does. */
  async readAll(maxBytes: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      await this.read((chunk) => {
        bytes += chunk.length;
        if (bytes <= maxBytes) chunks.push(chunk);
        else this.destroy();
      });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
    return Buffer.concat(chunks);
  }

  /** Ends the connection without reading further. */
  destroy(): void {
    this.#message.destroy();
  }
}
