import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import { FairleadError } from '../../base/fairlead-error.ts';
import { DecodeError } from '../../kube/decode-error.ts';
import { parseJsonObject } from '../../kube/json/parse-json-object.ts';
import { statusFromJson } from '../../kube/json/status-from-json.ts';
import { decodeEnvelope } from '../../kube/protobuf/decode-envelope.ts';
import { decodeStatus } from '../../kube/protobuf/decode-status.ts';
import { WireReader } from '../../kube/protobuf/wire-reader.ts';
import type { Status } from '../../kube/status.ts';
import { ApiError } from './api-error.ts';
import { ApiResponse } from './api-response.ts';
import type { CredentialProvider, Credentials } from './credentials.ts';
import { type HttpRequest, HttpTransport, type KeepAlive } from './http-transport.ts';
import { RateLimiter } from './rate-limiter.ts';
import { sleep } from './sleep.ts';

export interface ApiClientOptions {
  /** Version for the header `User-Agent`. */
  readonly version: string;
  /** `clientConnection.qps` and `burst`. */
  readonly qps: number;
  readonly burst: number;
  /** How long a request waits for the head of its answer, connecting included. */
  readonly answerTimeoutMs?: number;
  readonly keepAlive?: KeepAlive;
}

export interface ApiClientDependencies {
  readonly credentials: CredentialProvider;
  readonly clock: Clock;
  readonly env: NodeJS.ProcessEnv;
  readonly observer?: ApiClientObserver;
}

/** What metrics want to know of each request. `code` is the HTTP status, or `<error>` when no answer came. */
export interface ApiClientObserver {
  answered(request: {
    readonly method: string;
    readonly host: string;
    readonly code: string;
    readonly seconds: number;
    readonly rateLimiterSeconds: number;
    readonly requestBytes: number;
  }): void;
  /** A body that was read to its end. */
  received(response: { readonly method: string; readonly host: string; readonly bytes: number }): void;
  /** A request sent again because of this answer. */
  retried(request: { readonly method: string; readonly host: string; readonly code: string }): void;
}

/** Also what bounds a request into a dead connection: what is sent and not acknowledged stops the probes of keep-alive. */
export const defaultAnswerTimeoutMs = 60_000;
const maxErrorBodyBytes = 64 * 1024;

/** Requests to the API server: rate limit, credentials, time-outs, and error answers turned into ApiError. */
export class ApiClient {
  readonly #userAgent: string;
  readonly #answerTimeoutMs: number;
  readonly #limiter: RateLimiter;
  readonly #transport: HttpTransport;
  readonly #dependencies: ApiClientDependencies;

  constructor(options: ApiClientOptions, dependencies: ApiClientDependencies) {
    const arch = process.arch === 'x64' ? 'amd64' : process.arch;
    this.#userAgent = `fairlead/${options.version} (linux/${arch})`;
    this.#answerTimeoutMs = options.answerTimeoutMs ?? defaultAnswerTimeoutMs;
    this.#limiter = new RateLimiter(options, dependencies.clock);
    this.#transport = new HttpTransport(dependencies.env, options.keepAlive);
    this.#dependencies = dependencies;
  }

  /**
   * Sends a request and resolves with a 2xx answer, whose body the caller reads or destroys. After a 401 with
   * credentials that have since changed it is sent once more. Rejects with ApiError or CredentialsError.
   */
  async request(request: HttpRequest, signal: AbortSignal): Promise<ApiResponse> {
    const { credentials: provider, observer } = this.#dependencies;
    const used = await provider.current();
    try {
      return await this.#attempt(request, used, signal);
    } catch (error) {
      if (
        !(error instanceof ApiError) ||
        error.detail.code !== 'API_STATUS' ||
        error.detail.httpStatus !== 401
      ) {
        throw error;
      }
      provider.refused(used);
      const newer = await provider.current();
      if (isSame(used, newer)) throw error;
      observer?.retried({ method: request.method, host: hostOf(newer), code: '401' });
      return await this.#attempt(request, newer, signal);
    }
  }

  close(): void {
    this.#transport.close();
  }

  async #attempt(request: HttpRequest, credentials: Credentials, signal: AbortSignal): Promise<ApiResponse> {
    const { clock, observer } = this.#dependencies;
    const { method } = request;
    const host = hostOf(credentials);
    const heldBackMs = this.#limiter.reserve();
    await sleep(heldBackMs, clock, signal);
    const start = clock.monotonic();
    const answered = (code: string) =>
      observer?.answered({
        method,
        host,
        code,
        seconds: (clock.monotonic() - start) / 1000,
        rateLimiterSeconds: heldBackMs / 1000,
        requestBytes: request.body === undefined ? 0 : Buffer.byteLength(request.body),
      });
    let message: IncomingMessage;
    try {
      message = await this.#send(request, credentials, signal);
    } catch (error) {
      answered('<error>');
      throw error;
    }
    answered(String(message.statusCode));
    const response = new ApiResponse(message, {
      clock,
      path: pathOf(request),
      server: credentials.server,
      finished: (bytes) => observer?.received({ method, host, bytes }),
    });
    const httpStatus = message.statusCode ?? 0;
    if (httpStatus >= 200 && httpStatus < 300) return response;
    throw await this.#refusal(request, response, httpStatus);
  }

  async #send(request: HttpRequest, credentials: Credentials, signal: AbortSignal): Promise<IncomingMessage> {
    const path = pathOf(request);
    const silence = new ApiError({ code: 'API_SILENT', path, milliseconds: this.#answerTimeoutMs });
    const timeout = new AbortController();
    const timer = this.#dependencies.clock.schedule(this.#answerTimeoutMs, () => timeout.abort(silence));
    // The signal stays with the request: aborting it later cuts the body as well.
    const either = AbortSignal.any([signal, timeout.signal]);
    const headers = { 'User-Agent': this.#userAgent, ...request.headers };
    try {
      return await this.#transport.send({ ...request, headers }, credentials, either);
    } catch (cause) {
      if (timeout.signal.aborted) throw silence;
      if (cause instanceof FairleadError) throw cause;
      throw new ApiError({ code: 'API_CONNECTION', path, server: credentials.server }, { cause });
    } finally {
      timer.cancel();
    }
  }

  async #refusal(request: HttpRequest, response: ApiResponse, httpStatus: number): Promise<ApiError> {
    const body = await response.readAll(maxErrorBodyBytes);
    const status = statusOf(body, response.contentType, httpStatus);
    return new ApiError({
      code: 'API_STATUS',
      path: pathOf(request),
      httpStatus,
      status,
      retryAfterMs: retryAfter(response.header('retry-after'), status, this.#dependencies.clock.now()),
    });
  }
}

/** The Status in an error body; a made-up one when the body holds none (a proxy's page, say). */
function statusOf(body: Buffer, contentType: string, httpStatus: number): Status {
  try {
    if (contentType.includes('protobuf')) return decodeStatus(decodeEnvelope(new WireReader(body)).raw);
    if (contentType.includes('json')) return statusFromJson(parseJsonObject(body.toString('utf8')));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
  }
  return {
    status: 'Failure',
    message: body.toString('utf8', 0, 200).trim(),
    reason: '',
    code: httpStatus,
    retryAfterSeconds: 0,
    causes: [],
  };
}

/** `Retry-After` is a number of seconds or a date. */
function retryAfter(header: string | undefined, status: Status, now: number): number | undefined {
  if (header !== undefined && /^\d+$/.test(header)) return Number(header) * 1000;
  const date = header === undefined ? Number.NaN : Date.parse(header);
  if (!Number.isNaN(date)) return Math.max(0, date - now);
  return status.retryAfterSeconds > 0 ? status.retryAfterSeconds * 1000 : undefined;
}

function isSame(a: Credentials, b: Credentials): boolean {
  return a.tls === b.tls && a.server === b.server && JSON.stringify(a.headers) === JSON.stringify(b.headers);
}

function hostOf(credentials: Credentials): string {
  return new URL(credentials.server).host;
}

function pathOf(request: HttpRequest): string {
  return request.path.split('?')[0]!;
}
