import type { ServerResponse } from 'node:http';
import type { ApiServer } from './api-server.ts';
import type { FaultAction } from './fault.ts';
import { selectorsOf } from './list-request.ts';
import type { StoreEvent } from './object-store.ts';
import { isTrue, type RequestInfo } from './request-info.ts';
import { ResponseBody } from './response-body.ts';
import { sendStatus } from './send-status.ts';
import { invalidListOptions, sendInitialEventsForbidden, tooOldVersion } from './status.ts';
import type { StoredObject } from './stored-object.ts';
import { WatchSession } from './watch-session.ts';
import type { WireFormat } from './wire-format.ts';

/**
 * Opens a watch. Without `resourceVersion` or with `0` it begins with everything that exists; with
 * `sendInitialEvents=true` likewise, and then the bookmark that marks the end of the initial events (KEP-3157).
 * Throws SelectorError before anything was sent.
 */
export function answerWatch(
  server: ApiServer,
  response: ServerResponse,
  info: RequestInfo,
  format: WireFormat,
  action: FaultAction | undefined,
): void {
  const { store, settings } = server;
  const resource = info.resource!;
  const { query } = info;
  const matches = selectorsOf(info, resource);
  const version = query.get('resourceVersion') ?? '';
  const bookmarks = isTrue(query.get('allowWatchBookmarks'));
  const wantsInitialEvents = query.has('sendInitialEvents') && settings.watchList !== 'ignored';
  const initialEvents = wantsInitialEvents && isTrue(query.get('sendInitialEvents'));
  if (wantsInitialEvents) {
    if (settings.watchList === 'refused') {
      sendStatus(response, format, sendInitialEventsForbidden());
      return;
    }
    if (query.get('resourceVersionMatch') !== 'NotOlderThan') {
      const why = 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan';
      sendStatus(response, format, invalidListOptions(`resourceVersionMatch: Forbidden: ${why}`));
      return;
    }
  }
  const asked = Number(version);
  const fromStart = initialEvents || ((version === '' || version === '0') && !wantsInitialEvents);
  let backlog: readonly StoreEvent[] = [];
  let initial: readonly StoredObject[] = [];
  let after = asked;
  if (fromStart) {
    initial = store.list(resource.name);
    after = initialEvents && asked > store.resourceVersion ? asked : store.resourceVersion;
  } else if (version === '' || version === '0') {
    after = store.resourceVersion;
  } else {
    const events = action?.kind === 'expired' ? undefined : store.eventsAfter(resource.name, asked);
    if (events === undefined) {
      sendExpired(response, format, asked, store.lastChangeOf(resource.name));
      return;
    }
    backlog = events;
  }

  const seconds = Number(query.get('timeoutSeconds') ?? 0);
  response.writeHead(200, {
    'content-type': format.watchContentType,
    'cache-control': 'no-cache, private',
  });
  response.flushHeaders();
  const body = new ResponseBody(response, action);
  const session = new WatchSession(
    {
      resource,
      format,
      matches,
      bookmarks,
      after,
      timeoutMilliseconds: seconds > 0 ? seconds * 1000 : settings.defaultTimeoutMilliseconds,
      bookmarkIntervalMilliseconds: settings.bookmarkIntervalMilliseconds,
      lastBookmarkMilliseconds: settings.lastBookmarkMilliseconds,
    },
    body,
    store,
    () => server.removeWatch(session),
  );
  server.addWatch(session);
  response.on('close', () => session.dispose());
  session.sendStart(initial, backlog, initialEvents && bookmarks);
}

/** The recorded answer to an old version: status 200, no chunks, one ERROR event. */
function sendExpired(response: ServerResponse, format: WireFormat, asked: number, oldest: number): void {
  const bytes = format.errorEvent(tooOldVersion(asked, oldest));
  response.writeHead(200, { 'content-type': format.watchContentType, 'content-length': bytes.length });
  response.end(bytes);
}
