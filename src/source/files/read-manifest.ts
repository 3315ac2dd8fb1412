import { hash } from 'node:crypto';
import { DecodeError } from '../../kube/decode-error.ts';
import { isJsonObject, type JsonObject, joinPath } from '../../kube/json/json-fields.ts';
import { ObjectProblem } from './check-object.ts';
import { ManifestError } from './manifest-error.ts';
import { type KindedObject, kindRule, kindRules, type ObjectKind } from './object-kinds.ts';
import { lineOfField, parseDocument } from './parse-document.ts';
import { type ManifestDocument, splitDocuments } from './split-documents.ts';

/** One object of a manifest file. */
export interface ManifestObject {
  /** `Service default/web`, `Node node1`. */
  readonly key: string;
  readonly kinded: KindedObject;
  /** Hash of the object as written; also its `resourceVersion`. */
  readonly version: string;
  /** Raw labels, for the selectors. */
  readonly labels: JsonObject;
  /** Line on which its document begins. */
  readonly line: number;
}

/** An object that cannot be used, with its key where it could still be told. */
export interface RejectedObject {
  readonly key: string | undefined;
  readonly error: ManifestError;
}

/** What a document holds. Documents are remembered by their text, so that an edit costs only what it touches. */
export interface ReadDocument {
  readonly line: number;
  readonly objects: readonly ManifestObject[];
  readonly rejected: readonly RejectedObject[];
  /** Kinds that a Service proxy does not read. */
  readonly ignoredKinds: readonly string[];
}

export interface Manifest {
  readonly documents: ReadonlyMap<string, ReadDocument>;
  readonly objects: readonly ManifestObject[];
  readonly rejected: readonly RejectedObject[];
  readonly ignoredKinds: readonly string[];
}

/**
 * Reads the text of a manifest file. Documents that `known` holds from an earlier reading are not parsed again. With
 * `withoutLast` the last document is left out. Throws ManifestError MANIFEST_SYNTAX when the text cannot be parsed; an
 * object that cannot be used is in `rejected`.
 */
export async function readManifest(
  text: string,
  known: ReadonlyMap<string, ReadDocument> = new Map(),
  { withoutLast = false }: { readonly withoutLast?: boolean } = {},
): Promise<Manifest> {
  const split = splitDocuments(text);
  if (withoutLast) split.pop();
  const documents = new Map<string, ReadDocument>();
  const objects: ManifestObject[] = [];
  const rejected: RejectedObject[] = [];
  const ignoredKinds = new Set<string>();
  for (const document of split) {
    const documentKey = hash('sha1', document.text);
    const remembered = documents.get(documentKey) ?? known.get(documentKey);
    const read = remembered === undefined ? await readDocument(document) : movedTo(remembered, document.line);
    documents.set(documentKey, read);
    objects.push(...read.objects);
    rejected.push(...read.rejected);
    for (const kind of read.ignoredKinds) ignoredKinds.add(kind);
  }
  return { documents, objects, rejected, ignoredKinds: [...ignoredKinds] };
}

async function readDocument(document: ManifestDocument): Promise<ReadDocument> {
  const objects: ManifestObject[] = [];
  const rejected: RejectedObject[] = [];
  const ignoredKinds: string[] = [];
  for (const value of await parseDocument(document)) {
    for (const { item, path } of unpack(value)) {
      try {
        const object = readObject(item, document.line);
        if (typeof object === 'string') ignoredKinds.push(ownText(object));
        else objects.push(object);
      } catch (error) {
        const problem = problemOf(error);
        const fullPath = [path, problem.path].filter((part) => part !== '').join('.');
        const line = await lineOfField(document, fullPath);
        const detail = { code: 'MANIFEST_OBJECT', line, path: fullPath, problem: problem.text } as const;
        rejected.push({ key: identify(item), error: new ManifestError(detail, { cause: error }) });
      }
    }
  }
  return { line: document.line, objects, rejected, ignoredKinds };
}

/** The same document on another line, because the file has more or fewer lines above it now. */
function movedTo(read: ReadDocument, line: number): ReadDocument {
  const delta = line - read.line;
  if (delta === 0) return read;
  return {
    ...read,
    line,
    objects: read.objects.map((object) => ({ ...object, line })),
    rejected: read.rejected.map(({ key, error }) => ({
      key,
      error: new ManifestError({ ...error.detail, line: error.detail.line + delta }, { cause: error.cause }),
    })),
  };
}

/**
 * The object itself, or the items of a `List`, `ServiceList`, …, also of lists within it; items may leave out what the
 * list's kind says. `within` are the lists around it: an alias can make a list contain itself.
 */
function unpack(
  value: unknown,
  path = '',
  within: readonly unknown[] = [],
): { readonly item: unknown; readonly path: string }[] {
  if (!isJsonObject(value)) return [{ item: value, path }];
  const { kind, apiVersion, items } = value;
  if (typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items) || within.includes(items)) {
    return [{ item: value, path }];
  }
  const itemKind = kind.slice(0, -'List'.length);
  return items.flatMap((item: unknown, i) =>
    unpack(
      itemKind !== '' && isJsonObject(item) ? { kind: itemKind, apiVersion, ...item } : item,
      joinPath(path, `items[${i}]`),
      [...within, items],
    ),
  );
}

/** Reads one object; returns its kind when that is one a Service proxy does not read. */
function readObject(raw: unknown, line: number): ManifestObject | string {
  if (!isJsonObject(raw)) throw new ObjectProblem('', 'is no object');
  const { kind, apiVersion } = raw;
  if (typeof kind !== 'string' || kind === '') throw new ObjectProblem('', 'has no kind');
  const rule = kindRule(kind, apiVersion);
  if (rule === undefined) return kind;
  if (typeof apiVersion === 'string' && apiVersion !== rule.apiVersion) {
    throw new ObjectProblem('apiVersion', `must be ${rule.apiVersion}`);
  }
  const text = jsonOf(raw);
  const version = hash('sha1', text).slice(0, 16);
  // Parsed again, so that no string of the object keeps the text of the whole file in memory.
  const json = JSON.parse(text) as JsonObject;
  const { metadata } = json;
  const kinded = rule.read(
    isJsonObject(metadata) ? { ...json, metadata: completed(metadata, version, rule.namespaced) } : json,
  );
  const { labels } = isJsonObject(metadata) ? metadata : {};
  return { key: keyOf(kinded), kinded, version, labels: isJsonObject(labels) ? labels : {}, line };
}

function jsonOf(raw: JsonObject): string {
  try {
    return JSON.stringify(raw);
  } catch {
    throw new ObjectProblem('', 'contains itself, by an alias');
  }
}

/** Metadata with the version, and with the namespace that kube-apiserver would have put there. */
function completed(metadata: JsonObject, version: string, namespaced: boolean): JsonObject {
  const { namespace } = metadata;
  return {
    ...metadata,
    resourceVersion: version,
    ...(namespaced ? { namespace: namespace || 'default' } : {}),
  };
}

function keyOf({ kind, object }: KindedObject): string {
  return 'namespace' in object ? `${kind} ${object.namespace}/${object.name}` : `${kind} ${object.name}`;
}

/** The key of an object that cannot be used, if kind, name and namespace can be read. */
function identify(raw: unknown): string | undefined {
  if (!isJsonObject(raw)) return undefined;
  const { kind, apiVersion, metadata } = raw;
  if (kindRule(kind, apiVersion) === undefined || !isJsonObject(metadata)) return undefined;
  const { name, namespace = 'default' } = metadata;
  if (typeof name !== 'string' || name === '' || typeof namespace !== 'string') return undefined;
  const { namespaced } = kindRules[kind as ObjectKind];
  return ownText(`${kind as string} ${namespaced ? `${namespace || 'default'}/` : ''}${name}`);
}

/** A copy that does not keep the text of the whole file in memory, as a part of a string does in V8. */
function ownText(text: string): string {
  return Buffer.from(text).toString();
}

function problemOf(error: unknown): { readonly path: string; readonly text: string } {
  if (error instanceof ObjectProblem) return { path: error.path, text: error.message };
  if (!(error instanceof DecodeError)) throw error;
  const { detail } = error;
  if (detail.code === 'DECODE_JSON_TYPE') return { path: detail.path, text: `expected ${detail.expected}` };
  if (detail.code === 'DECODE_NO_NAME') return { path: 'metadata.name', text: 'is required' };
  return { path: '', text: error.message };
}
