import { get } from 'node:http';
import type { Failure, HttpAnswer } from './agent-protocol.ts';
import { classifyFailure, systemErrorCode } from './classify-failure.ts';
import type { ConnectionTarget } from './connection.ts';

const WEIGHT_HEADER = 'x-load-balancing-endpoint-weight';

/** One GET on a connection of its own. Never rejects. */
export function httpRequest(
  target: ConnectionTarget,
  path: string,
  timeoutMilliseconds: number,
): Promise<HttpAnswer | Failure> {
  const { host, port, bind, localPort } = target;
  return new Promise((resolve) => {
    const request = get({
      host,
      port,
      path,
      localPort,
      agent: false,
      signal: AbortSignal.timeout(timeoutMilliseconds),
      ...(bind === null ? {} : { localAddress: bind }),
    });
    const fail = (error: Error): void => {
      const expired = error.name === 'AbortError' || error.name === 'TimeoutError';
      resolve({ failure: expired ? 'timeout' : classifyFailure(systemErrorCode(error), host) });
    };
    request.on('error', fail);
    request.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', fail);
      response.on('end', () => {
        const weight = response.headers[WEIGHT_HEADER];
        resolve({
          status: response.statusCode ?? 0,
          body: parseBody(text),
          ...(typeof weight === 'string' ? { weight } : {}),
        });
      });
    });
  });
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
