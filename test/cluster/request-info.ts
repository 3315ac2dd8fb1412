import type { RequestClass } from './fault.ts';
import { type Resource, resources } from './resources.ts';

/** What a URL asks for. */
export interface RequestInfo {
  readonly verb: RequestClass['verb'];
  readonly group: string;
  /** Plural name as in the path, known to the stand-in or not. */
  readonly plural: string;
  readonly resource: Resource | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly query: URLSearchParams;
}

/** Reads method and URL of a resource request; `undefined` for other paths, such as `/version`. */
export function parseRequest(method: string, url: URL): RequestInfo | undefined {
  const [, root, ...rest] = url.pathname.split('/').map(decodeURIComponent);
  if (root !== 'api' && root !== 'apis') return undefined;
  const group = root === 'api' ? '' : (rest.shift() ?? '');
  const version = rest.shift();
  if (version === undefined) return undefined;
  let namespace: string | undefined;
  if (rest[0] === 'namespaces' && rest.length > 2) [, namespace] = rest.splice(0, 2);
  const [plural, name] = rest;
  if (plural === undefined || plural === '') return undefined;
  const basePath = root === 'api' ? `/api/${version}` : `/apis/${group}/${version}`;
  const query = url.searchParams;
  return {
    verb: verbOf(method, name, query),
    group,
    plural,
    resource: resources.find((resource) => resource.name === plural && resource.basePath === basePath),
    namespace,
    name,
    query,
  };
}

export function isTrue(value: string | null): boolean {
  return value === 'true' || value === '1';
}

function verbOf(method: string, name: string | undefined, query: URLSearchParams): RequestClass['verb'] {
  if (method === 'POST') return 'create';
  if (method === 'PATCH') return 'patch';
  if (isTrue(query.get('watch'))) return 'watch';
  return name === undefined ? 'list' : 'get';
}
