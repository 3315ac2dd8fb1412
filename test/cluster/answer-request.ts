import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerWatch } from './answer-watch.ts';
import type { ApiServer, RequestRecord } from './api-server.ts';
import type { FaultAction } from './fault.ts';
import { answerList } from './list-request.ts';
import { negotiate } from './media-type.ts';
import { parseRequest, type RequestInfo } from './request-info.ts';
import { ResponseBody } from './response-body.ts';
import { SelectorError } from './selectors.ts';
import { sendStatus } from './send-status.ts';
import {
  badRequest,
  failure,
  forbidden,
  forbiddenPath,
  notAcceptable,
  notFound,
  type StatusBody,
  tooOldVersion,
  unauthorized,
} from './status.ts';
import { versionText } from './version.ts';
import { jsonFormat, type WireFormat } from './wire-format.ts';
import { writeEvent } from './write-event.ts';

const chunkBytes = 1 << 20;

/** Answers one HTTP request. */
export async function answerRequest(
  server: ApiServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://stand-in');
  const info = parseRequest(request.method ?? 'GET', url);
  const format = negotiate(request.headers.accept, server.settings.protobuf);
  const record: RequestRecord = {
    verb: info?.verb ?? 'get',
    resource: info?.plural,
    url: request.url ?? '/',
    accept: request.headers.accept,
    userAgent: request.headers['user-agent'],
    status: 0,
  };
  server.record(record);
  response.on('close', () => {
    record.status = response.statusCode;
  });

  const action = server.faults.take({
    verb: info?.verb ?? 'get',
    resource: info?.resource?.name ?? (info?.plural === 'events' ? 'events' : undefined),
    format: format?.name,
  });
  if (action?.kind === 'hang') return;
  if (action?.kind === 'delay') await sleep(action.milliseconds);
  const refusal = refuse(server, request, url, info, format, action);
  if (refusal !== undefined) {
    sendStatus(response, format ?? jsonFormat, refusal);
    return;
  }
  if (info === undefined) {
    sendPlain(server, response, url);
    return;
  }
  const wire = format!;
  try {
    if (info.plural === 'events') await writeEvent(server, request, response, info, wire);
    else if (info.verb === 'watch') answerWatch(server, response, info, wire, action);
    else if (info.verb === 'list') await sendList(server, response, info, wire, action);
    else sendObject(server, response, info, wire, action);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    sendStatus(response, wire, badRequest(error.message));
  }
}

function refuse(
  server: ApiServer,
  request: IncomingMessage,
  url: URL,
  info: RequestInfo | undefined,
  format: WireFormat | undefined,
  action: FaultAction | undefined,
): StatusBody | undefined {
  if (action?.kind === 'status') return injected(action);
  if (!server.isAuthenticated(request)) return unauthorized();
  if (info === undefined) {
    return ['/version', '/healthz', '/livez', '/readyz'].includes(url.pathname)
      ? undefined
      : forbiddenPath('get', url.pathname);
  }
  const { resource, plural, group } = info;
  const isEvent = plural === 'events' && (info.verb === 'create' || info.verb === 'patch');
  if (resource !== undefined && server.settings.absent.includes(resource.name)) {
    return failure(404, 'NotFound', 'the server could not find the requested resource', { details: {} });
  }
  const isRead = info.verb === 'get' || info.verb === 'list' || info.verb === 'watch';
  const denied = resource === undefined || !isRead || server.settings.denied.includes(resource.name);
  if (denied && !isEvent) return forbidden(info.verb, plural, group);
  if (format === undefined) return notAcceptable(server.settings.protobuf);
  if (action?.kind === 'refuse-protobuf' && format.name === 'protobuf') return notAcceptable(false);
  if (action?.kind === 'expired' && (action.form === 'http' || info.verb !== 'watch')) {
    const asked = Number(info.query.get('resourceVersion') ?? 0);
    return tooOldVersion(asked, server.store.resourceVersion);
  }
  return undefined;
}

function injected(action: FaultAction & { kind: 'status' }): StatusBody {
  const reasons: Readonly<Record<number, string>> = {
    401: 'Unauthorized',
    403: 'Forbidden',
    410: 'Expired',
    429: 'TooManyRequests',
    500: 'InternalError',
    503: 'ServiceUnavailable',
  };
  const { code, retryAfterSeconds } = action;
  const message = action.message ?? `injected ${code}`;
  return failure(code, action.reason ?? reasons[code] ?? 'Unknown', message, {
    ...(retryAfterSeconds === undefined ? {} : { details: { retryAfterSeconds } }),
  });
}

async function sendList(
  server: ApiServer,
  response: ServerResponse,
  info: RequestInfo,
  format: WireFormat,
  action: FaultAction | undefined,
): Promise<void> {
  const resource = info.resource!;
  const answer = await answerList(server.store, info, resource, {
    oldestContinue: server.oldestContinue,
    futureVersionMilliseconds: server.settings.futureVersionMilliseconds,
  });
  if ('failure' in answer) {
    sendStatus(response, format, answer.failure);
    return;
  }
  const { metadata, items } = answer;
  const key = `${format.name} ${response.req.url} ${JSON.stringify(metadata)}`;
  sendBody(
    response,
    format,
    server.listBodies.get(key, () => format.list(resource, metadata, items)),
    action,
  );
}

function sendObject(
  server: ApiServer,
  response: ServerResponse,
  info: RequestInfo,
  format: WireFormat,
  action: FaultAction | undefined,
): void {
  const resource = info.resource!;
  const stored = server.store.get(resource.name, info.namespace, info.name ?? '');
  if (stored === undefined) {
    sendStatus(response, format, notFound(resource.name, resource.group, info.name ?? ''));
    return;
  }
  sendBody(response, format, format.object(stored), action);
}

/** Go leaves the length out from 2 KiB on and sends chunks instead. */
function sendBody(
  response: ServerResponse,
  format: WireFormat,
  bytes: Buffer,
  action: FaultAction | undefined,
): void {
  response.writeHead(200, {
    'content-type': format.contentType,
    'cache-control': 'no-cache, private',
    ...(bytes.length < 2048 && action === undefined ? { 'content-length': bytes.length } : {}),
  });
  const body = new ResponseBody(response, action);
  for (let at = 0; at < bytes.length; at += chunkBytes) body.write(bytes.subarray(at, at + chunkBytes));
  body.end();
}

function sendPlain(server: ApiServer, response: ServerResponse, url: URL): void {
  if (url.pathname === '/version') {
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
    response.end(versionText(server.settings.version));
  } else {
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
    response.end('ok');
  }
}
