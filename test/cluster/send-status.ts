import type { ServerResponse } from 'node:http';
import type { StatusBody } from './status.ts';
import type { WireFormat } from './wire-format.ts';

/** Sends a Status body with its code, pretty-printed where kube-apiserver does so. */
export function sendStatus(response: ServerResponse, format: WireFormat, status: StatusBody): void {
  const pretty = status.code === 406;
  const body = pretty ? Buffer.from(JSON.stringify(status, undefined, 2)) : format.status(status);
  const retryAfter = status.details?.retryAfterSeconds;
  response.writeHead(status.code, {
    'content-type': pretty ? 'application/json' : format.contentType,
    'cache-control': 'no-cache, private',
    'content-length': body.length,
    ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
  });
  response.end(body);
}
