import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiServer, RecordedEvent } from './api-server.ts';
import type { RequestInfo } from './request-info.ts';
import { sendStatus } from './send-status.ts';
import { badRequest, notFound } from './status.ts';
import type { WireFormat } from './wire-format.ts';

/** Takes a created or patched Event, keeps it in `server.events` and answers with it. Bodies are JSON. */
export async function writeEvent(
  server: ApiServer,
  request: IncomingMessage,
  response: ServerResponse,
  info: RequestInfo,
  format: WireFormat,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  let body: RecordedEvent;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString()) as RecordedEvent;
  } catch {
    sendStatus(response, format, badRequest('the event is not JSON'));
    return;
  }
  let event = body;
  if (info.verb === 'create') {
    server.events.push(body);
  } else {
    const known = server.events.findIndex((candidate) => candidate.metadata?.name === info.name);
    if (known < 0) {
      sendStatus(response, format, notFound('events', info.group, info.name ?? ''));
      return;
    }
    const { metadata: _metadata, ...fields } = body;
    event = { ...server.events[known], ...fields };
    server.events[known] = event;
  }
  const text = Buffer.from(`${JSON.stringify(event)}\n`);
  response.writeHead(info.verb === 'create' ? 201 : 200, {
    'content-type': 'application/json',
    'cache-control': 'no-cache, private',
    'content-length': text.length,
  });
  response.end(text);
}
