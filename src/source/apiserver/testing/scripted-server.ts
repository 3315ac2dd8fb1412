import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: http.IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export type Answer = (response: ServerResponse, request: ReceivedRequest) => void;

/**
 * An HTTP server whose answers a test writes down beforehand: each request takes the next one; the last one stays for
 * all that follow. Requests are kept for the test to look at.
 */
export class ScriptedServer {
  readonly requests: ReceivedRequest[] = [];
  readonly #server: http.Server;
  readonly #sockets = new Set<Socket>();
  readonly #isTls: boolean;
  #answers: Answer[] = [];

  constructor(tls?: https.ServerOptions) {
    const listener = (request: IncomingMessage, response: ServerResponse) =>
      void this.#receive(request, response);
    this.#isTls = tls !== undefined;
    this.#server = tls === undefined ? http.createServer(listener) : https.createServer(tls, listener);
    this.#server.on(this.#isTls ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  /** Replaces the answers. */
  answer(...answers: Answer[]): void {
    this.#answers = answers;
  }

  async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#isTls ? 'https' : 'http'}://127.0.0.1:${this.port}`;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Cuts all connections, as a crash does. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += chunk;
    const url = new URL(request.url ?? '/', 'http://server');
    const received: ReceivedRequest = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      body,
    };
    this.requests.push(received);
    const answer = this.#answers.length > 1 ? this.#answers.shift() : this.#answers[0];
    if (answer === undefined) throw new Error(`no answer for ${request.url}`);
    answer(response, received);
  }
}
