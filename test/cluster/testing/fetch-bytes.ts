import { get as httpGet, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { get as httpsGet } from 'node:https';

export interface FetchedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Whether the connection broke off before the end of the body. */
  readonly broken: boolean;
}

export interface FetchOptions {
  readonly accept?: string;
  readonly token?: string;
  readonly ca?: string;
  readonly certificate?: string;
  readonly key?: string;
  /** Called with each piece of the body as it comes. */
  readonly onData?: (bytes: Buffer) => void;
  readonly signal?: AbortSignal;
}

/** One GET with a connection of its own, read to its end or until it breaks. Rejects when no answer came. */
export function fetchBytes(url: string, options: FetchOptions = {}): Promise<FetchedAnswer> {
  const { accept, token, ca, certificate, key, onData, signal } = options;
  return new Promise((resolve, reject) => {
    const settings = {
      agent: false as const,
      headers: {
        ...(accept === undefined ? {} : { accept }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(signal === undefined ? {} : { signal }),
      ...(ca === undefined ? {} : { ca }),
      ...(certificate === undefined ? {} : { cert: certificate, key }),
    };
    const receive = (response: IncomingMessage) => {
      const chunks: Buffer[] = [];
      const finish = (broken: boolean) =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks),
          broken,
        });
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        onData?.(chunk);
      });
      response.on('end', () => finish(false));
      response.on('error', () => finish(true));
    };
    const request = url.startsWith('https:')
      ? httpsGet(url, settings, receive)
      : httpGet(url, settings, receive);
    request.on('error', reject);
  });
}
