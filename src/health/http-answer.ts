import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** What a handler looks at. */
export interface HttpRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly accept: string;
  readonly acceptEncoding: string;
  /** Port of this host that was asked. */
  readonly localPort: number;
  /** Reads a small body. Throws {@link BodyTooLargeError} beyond `limit` bytes. */
  readText(limit: number): Promise<string>;
  /** Aborted when the client has closed its side, or is gone altogether. */
  readonly signal: AbortSignal;
  /** Gives the answer this much more time than the server's limit. */
  extend(milliseconds: number): void;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | Readable;
}

export type HttpHandler = (request: HttpRequest) => HttpAnswer | Promise<HttpAnswer>;

export class BodyTooLargeError extends Error {}

/** `X-Content-Type-Options`, on everything that Go's `http.Error` or kube-proxy marks so. */
const NO_SNIFF = { 'X-Content-Type-Options': 'nosniff' };

/** Plain text with nosniff, as Go's `http.Error` answers; adds nothing to the text. */
export function plainText(status: number, body: string): HttpAnswer {
  return { status, headers: { 'Content-Type': 'text/plain; charset=utf-8', ...NO_SNIFF }, body };
}

/** JSON text with nosniff. */
export function json(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer {
  return { status, headers: { 'Content-Type': 'application/json', ...NO_SNIFF, ...headers }, body };
}

/** The answer of Go's mux to a path it does not know. */
export function notFound(): HttpAnswer {
  return plainText(404, '404 page not found\n');
}

/** The parts of a message a handler needs; `lifetime` is what only the server knows. */
export function readRequest(
  message: IncomingMessage,
  lifetime: Pick<HttpRequest, 'signal' | 'extend'>,
): HttpRequest {
  const target = originForm(message.url ?? '/');
  const question = target.indexOf('?');
  const header = (name: string) => {
    const value = message.headers[name];
    return Array.isArray(value) ? value.join(',') : (value ?? '');
  };
  return {
    method: message.method ?? 'GET',
    path: question < 0 ? target : target.slice(0, question),
    query: new URLSearchParams(question < 0 ? '' : target.slice(question + 1)),
    accept: header('accept'),
    acceptEncoding: header('accept-encoding'),
    localPort: message.socket.localPort ?? 0,
    readText: (limit) => readText(message, limit),
    ...lifetime,
  };
}

/** A request may name the whole URL (RFC 9112, 3.2.2), as some load balancers' checks do: path and query of it. */
function originForm(target: string): string {
  const absolute = /^https?:\/\/[^/?#]*(.*)$/i.exec(target);
  if (absolute === null) return target;
  const rest = absolute[1] ?? '';
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Sends an answer the way Go's server does: with a length, and without naming the connection persistent. */
export async function sendAnswer(
  message: IncomingMessage,
  response: ServerResponse,
  answer: HttpAnswer,
): Promise<void> {
  response.statusCode = answer.status;
  for (const [name, value] of Object.entries(answer.headers)) response.setHeader(name, value);
  if (message.socket.readableEnded) response.shouldKeepAlive = false;
  else if (message.httpVersion === '1.1' && response.shouldKeepAlive) response.removeHeader('Connection');
  const { body } = answer;
  if (typeof body === 'string' || body instanceof Uint8Array) {
    response.setHeader('Content-Length', Buffer.byteLength(body));
    response.end(body);
  } else if (message.method === 'HEAD') {
    body.destroy();
    response.end();
  } else {
    await pipeline(body, response);
  }
}

async function readText(message: IncomingMessage, limit: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // The default would destroy the connection, and with it the answer, when the loop is left early.
  for await (const chunk of message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw new BodyTooLargeError(`a body of more than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
