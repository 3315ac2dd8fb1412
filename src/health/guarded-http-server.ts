import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { http } from '../base/node-http.ts';
import { connectionShare } from './connection-share.ts';
import { BodyTooLargeError, type HttpHandler, plainText, readRequest, sendAnswer } from './http-answer.ts';
import type { ConnectionTaker } from './listen.ts';

/** What one client may cost. All times in milliseconds. */
export interface HttpLimits {
  /**
   * Above this, or the share that a server has of this process's open files, the connection that has been idle longest is
   * closed: a new client always gets in.
   */
  readonly connections: number;
  /** From the connection to the end of the first request's headers. */
  readonly firstRequest: number;
  /** From the end of an answer to the end of the next request's headers. */
  readonly idle: number;
  /** From a request to the moment the client has taken the whole answer. */
  readonly answer: number;
  /** Bytes of a request body that are read and thrown away. */
  readonly bodyBytes: number;
  /** Bytes of all headers of a request. */
  readonly headerBytes: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  connections: 256,
  firstRequest: 10_000,
  // Longer than the usual minute between two scrapes, so that a scraper keeps its connection.
  idle: 90_000,
  answer: 30_000,
  bodyBytes: 64 * 1024,
  headerBytes: 16 * 1024,
};

const SWEEP_MILLISECONDS = 1000;

/** Requests of one connection that may wait for the answers to those before them. */
const MAX_PIPELINED = 16;

interface Connection {
  /** Monotonic, milliseconds: when the connection is closed unless something happens. */
  deadline: number;
  /** Requests whose answer has not been taken yet. */
  answering: number;
  /** Resolves when the answer to the last request has been taken, or never will be. */
  lastAnswer: Promise<void>;
  /** Aborted when the client has closed its side, or the whole connection. */
  readonly gone: AbortController;
}

/**
 * Speaks HTTP/1 on connections that are handed to it, so that no client can hold more than its share: every connection
 * has a deadline at any time, their number is bounded, request bodies are thrown away, and pipelined requests wait
 * while the client does not read. Listeners belong to others; any number of them may share one server.
 */
export class GuardedHttpServer implements ConnectionTaker {
  readonly #handler: HttpHandler;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #limits: HttpLimits;
  readonly #http: Server;
  /** In order of their last activity, oldest first. */
  readonly #connections = new Map<Socket, Connection>();
  #sweep: Timer | undefined;

  constructor(
    handler: HttpHandler,
    dependencies: { readonly clock: Clock; readonly logger: Logger; readonly limits?: HttpLimits },
  ) {
    this.#handler = handler;
    this.#clock = dependencies.clock;
    this.#logger = dependencies.logger;
    const limits = dependencies.limits ?? DEFAULT_HTTP_LIMITS;
    this.#limits = { ...limits, connections: Math.min(limits.connections, connectionShare()) };
    // Node's own timeouts are off: they need a listening server, and deadlines cover them.
    this.#http = http.createServer({
      keepAliveTimeout: 0,
      headersTimeout: 0,
      requestTimeout: 0,
      maxHeaderSize: this.#limits.headerBytes,
    });
    // As in Go, a client that has closed its side still gets its answer. Node knows the property but does not document it.
    Object.assign(this.#http, { httpAllowHalfOpen: true });
    this.#http.on('request', (message, response) => this.#answer(message, response));
    // Without this Node would invite a body before the handler has looked at the request.
    this.#http.on('checkContinue', (message, response) => this.#answer(message, response));
    this.#http.on('clientError', refuse);
  }

  /** Serves a connection. It should come from a listener with `allowHalfOpen`, as HTTP clients may close their side. */
  accept(socket: Socket): void {
    const deadline = this.#clock.monotonic() + this.#limits.firstRequest;
    const gone = new AbortController();
    this.#connections.set(socket, { deadline, answering: 0, lastAnswer: Promise.resolve(), gone });
    socket.once('end', () => gone.abort());
    socket.once('close', () => {
      gone.abort();
      this.#connections.delete(socket);
    });
    if (this.#connections.size > this.#limits.connections) this.#evict();
    this.#armSweep();
    this.#http.emit('connection', socket);
  }

  acceptFailed(error: Error): void {
    this.#logger.verbose(2, 'Connection not taken', { error: error.message });
  }

  /** Open connections. */
  get size(): number {
    return this.#connections.size;
  }

  /** Closes connections at once, all of them or those that match. */
  closeConnections(matches: (socket: Socket) => boolean = () => true): void {
    for (const socket of [...this.#connections.keys()]) if (matches(socket)) this.#drop(socket);
  }

  #drop(socket: Socket): void {
    this.#connections.delete(socket);
    socket.destroy();
  }

  #evict(): void {
    let victim: Socket | undefined;
    for (const [socket, { answering }] of this.#connections) {
      victim ??= socket;
      if (answering > 0) continue;
      victim = socket;
      break;
    }
    if (victim !== undefined) this.#drop(victim);
  }

  #armSweep(): void {
    this.#sweep ??= this.#clock.schedule(SWEEP_MILLISECONDS, () => {
      this.#sweep = undefined;
      const now = this.#clock.monotonic();
      for (const [socket, { deadline }] of [...this.#connections]) if (now >= deadline) this.#drop(socket);
      if (this.#connections.size > 0) this.#armSweep();
    });
  }

  #answer(message: IncomingMessage, response: ServerResponse): void {
    const { socket } = message;
    const connection = this.#connections.get(socket);
    if (connection === undefined || connection.answering >= MAX_PIPELINED) {
      this.#drop(socket);
      return;
    }
    // A request behind others does not buy them time.
    if (connection.answering++ === 0) this.#active(socket, connection, this.#limits.answer);
    const before = connection.lastAnswer;
    const { promise, resolve } = Promise.withResolvers<void>();
    connection.lastAnswer = promise;
    response.once('close', () => {
      connection.answering--;
      this.#active(socket, connection, connection.answering > 0 ? this.#limits.answer : this.#limits.idle);
      resolve();
    });
    void before.then(() => this.#respond(message, response, connection));
  }

  /** Notes a sign of life that gives the connection this much time. */
  #active(socket: Socket, connection: Connection, milliseconds: number): void {
    if (!this.#connections.delete(socket)) return;
    connection.deadline = this.#clock.monotonic() + milliseconds;
    this.#connections.set(socket, connection);
  }

  async #respond(message: IncomingMessage, response: ServerResponse, connection: Connection): Promise<void> {
    if (message.socket.destroyed) return;
    const extend = (milliseconds: number) => {
      connection.deadline += milliseconds;
    };
    const request = readRequest(message, { signal: connection.gone.signal, extend });
    try {
      await sendAnswer(message, response, await this.#handler(request));
    } catch (error) {
      await this.#respondToFailure(message, response, error);
    }
    this.#discardBody(message);
  }

  async #respondToFailure(message: IncomingMessage, response: ServerResponse, error: unknown): Promise<void> {
    if (message.socket.destroyed) return;
    const tooLarge = error instanceof BodyTooLargeError;
    if (!tooLarge) this.#logger.error('HTTP handler failed', error, { path: message.url?.slice(0, 200) });
    if (response.headersSent) {
      this.#drop(message.socket);
      return;
    }
    const answer = tooLarge
      ? plainText(413, '413 Request Entity Too Large\n')
      : plainText(500, 'Internal Server Error\n');
    await sendAnswer(message, response, answer);
  }

  /** Reads what the client still sends of its body, for the sake of the next request, up to the limit. */
  #discardBody(message: IncomingMessage): void {
    let bytes = 0;
    message.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > this.#limits.bodyBytes) this.#drop(message.socket);
    });
  }
}

/** Answers what is no HTTP request the way Go's server does, and closes. */
function refuse(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}`,
  );
}
