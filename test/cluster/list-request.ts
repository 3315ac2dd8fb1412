import { setTimeout as sleep } from 'node:timers/promises';
import { formatContinueToken, parseContinueToken } from './continue-token.ts';
import type { ListOptions } from './encoding/encode.ts';
import type { ObjectStore } from './object-store.ts';
import type { RequestInfo } from './request-info.ts';
import type { Resource } from './resources.ts';
import { type ObjectMatcher, parseFieldSelector, parseLabelSelector } from './selectors.ts';
import {
  badRequest,
  expiredContinueToken,
  invalidListOptions,
  type StatusBody,
  tooLargeVersion,
  tooOldVersion,
} from './status.ts';
import type { StoredObject } from './stored-object.ts';

export type ListAnswer =
  | { readonly items: readonly StoredObject[]; readonly metadata: ListOptions }
  | { readonly failure: StatusBody };

export interface ListSettings {
  /** Continue tokens of versions below this one have expired. */
  readonly oldestContinue: number;
  /** How long a request for a version of the future waits before it is refused; kube-apiserver takes 3 s. */
  readonly futureVersionMilliseconds: number;
}

/** The matcher of a request's selectors and namespace. Throws SelectorError. */
export function selectorsOf(request: RequestInfo, resource: Resource): ObjectMatcher {
  const label = request.query.get('labelSelector') ?? '';
  const field = request.query.get('fieldSelector') ?? '';
  const matchesLabels = label === '' ? undefined : parseLabelSelector(label);
  const matchesFields = field === '' ? undefined : parseFieldSelector(resource, field);
  const { namespace } = request;
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    (matchesLabels === undefined || matchesLabels(object)) &&
    (matchesFields === undefined || matchesFields(object));
}

/**
 * Answers a list with the semantics of `resourceVersion`, `resourceVersionMatch`, `limit` and `continue` of
 * kube-apiserver. Version 0 is served from the watch cache: as old as that resource's last change, and never paged.
 */
export async function answerList(
  store: ObjectStore,
  request: RequestInfo,
  resource: Resource,
  settings: ListSettings,
): Promise<ListAnswer> {
  const { query } = request;
  const limit = Number(query.get('limit') ?? 0);
  const version = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  const token = query.get('continue') ?? '';
  if (version !== '' && !/^\d+$/.test(version)) {
    return { failure: invalidListOptions(`resourceVersion: Invalid value: "${version}": must be a number`) };
  }
  if (match !== '' && version === '') {
    const why = 'resourceVersionMatch is forbidden unless resourceVersion is provided';
    return { failure: invalidListOptions(`resourceVersionMatch: Forbidden: ${why}`) };
  }
  const selected = selectorsOf(request, resource);
  if (token !== '') return continueList(store, request, resource, settings, { token, limit, selected });

  const asked = Number(version);
  if (asked > store.resourceVersion) {
    await sleep(settings.futureVersionMilliseconds);
    if (asked > store.resourceVersion) {
      return { failure: tooLargeVersion(asked, store.resourceVersion) };
    }
  }
  if (version === '0' && match !== 'Exact') {
    const items = store.list(resource.name).filter((stored) => selected(stored.object));
    return { items, metadata: { resourceVersion: String(store.lastChangeOf(resource.name)) } };
  }
  // Without a match rule, a version together with a limit means exactly that version.
  const exact = match === 'Exact' || (version !== '' && match === '' && limit > 0);
  const at = exact ? asked : store.resourceVersion;
  const all = store.listAt(resource.name, at);
  if (all === undefined) return { failure: tooOldVersion(asked, store.lastChangeOf(resource.name)) };
  return page(request, all, selected, at, limit);
}

function continueList(
  store: ObjectStore,
  request: RequestInfo,
  resource: Resource,
  settings: ListSettings,
  { token, limit, selected }: { token: string; limit: number; selected: ObjectMatcher },
): ListAnswer {
  const from = parseContinueToken(token);
  if (from === undefined) return { failure: badRequest('continue key is not valid: invalid token') };
  const at = from.resourceVersion < 0 ? store.resourceVersion : from.resourceVersion;
  const all = at < settings.oldestContinue ? undefined : store.listAt(resource.name, at);
  if (all === undefined) {
    return { failure: expiredContinueToken(formatContinueToken({ ...from, resourceVersion: -1 })) };
  }
  return page(
    request,
    all.filter((stored) => stored.key > from.afterKey),
    selected,
    at,
    limit,
  );
}

function page(
  request: RequestInfo,
  all: readonly StoredObject[],
  selected: ObjectMatcher,
  resourceVersion: number,
  limit: number,
): ListAnswer {
  const matching = all.filter((stored) => selected(stored.object));
  const version = String(resourceVersion);
  if (limit <= 0 || matching.length <= limit) {
    return { items: matching, metadata: { resourceVersion: version } };
  }
  const items = matching.slice(0, limit);
  const token = formatContinueToken({ resourceVersion, afterKey: items.at(-1)!.key });
  const filtered = request.query.has('labelSelector') || request.query.has('fieldSelector');
  // A server that filters does not count what is left.
  const remaining = filtered ? {} : { remainingItemCount: matching.length - limit };
  return { items, metadata: { resourceVersion: version, continue: token, ...remaining } };
}
