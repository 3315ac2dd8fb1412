import type { WireReader } from './wire-reader.ts';

export type Entries = readonly (readonly [key: string, value: string])[];

const noEntries: Entries = [];

/** The part of a `metav1.ObjectMeta` that some kind needs. Times are milliseconds since the epoch, 0 where absent. */
export interface ObjectMeta {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: number;
  deletionTimestamp: number | undefined;
  labels: Entries;
  annotations: Entries;
}

/** Which costly parts are wanted. Of labels and annotations only these keys are kept, `all` keeps every one. */
export interface ObjectMetaSelection {
  readonly uid?: boolean;
  readonly labels?: readonly string[] | 'all';
  readonly annotations?: readonly string[];
}

/** Reads a `metav1.ObjectMeta` field. */
export function decodeObjectMeta(reader: WireReader, selection: ObjectMetaSelection): ObjectMeta {
  const meta: ObjectMeta = {
    namespace: '',
    name: '',
    uid: '',
    resourceVersion: '',
    creationTimestamp: 0,
    deletionTimestamp: undefined,
    labels: noEntries,
    annotations: noEntries,
  };
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1:
        meta.name = reader.string();
        break;
      case 3:
        meta.namespace = reader.sharedString();
        break;
      case 5:
        if (selection.uid === true) meta.uid = reader.string();
        else reader.skip();
        break;
      case 6:
        meta.resourceVersion = reader.string();
        break;
      case 8:
        meta.creationTimestamp = decodeTime(reader);
        break;
      case 9:
        meta.deletionTimestamp = decodeTime(reader);
        break;
      case 11:
        if (selection.labels === undefined) reader.skip();
        else meta.labels = decodeMapEntry(reader, selection.labels, meta.labels);
        break;
      case 12:
        if (selection.annotations === undefined) reader.skip();
        else meta.annotations = decodeMapEntry(reader, selection.annotations, meta.annotations);
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outer);
  return meta;
}

/** Value of a key, `''` where absent. */
export function entryOf(entries: Entries, key: string): string {
  for (const [candidate, value] of entries) if (candidate === key) return value;
  return '';
}

/** Reads a `metav1.Time` field: `{1: seconds, 2: nanoseconds}`; the API keeps whole seconds. */
function decodeTime(reader: WireReader): number {
  let seconds = 0;
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) seconds = reader.int64();
    else reader.skip();
  }
  reader.leave(outer);
  return seconds * 1000;
}

/** Reads one entry `{1: key, 2: value}` of a string map and adds it if its key is wanted. */
function decodeMapEntry(reader: WireReader, wanted: readonly string[] | 'all', entries: Entries): Entries {
  let key = '';
  let value = '';
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 1:
        key = reader.sharedString();
        break;
      case 2:
        // Keys come first in what Go writes; a value before its key is read too, being perhaps wanted.
        if (key === '' || wanted === 'all' || wanted.includes(key)) value = reader.string();
        else reader.skip();
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outer);
  return wanted === 'all' || wanted.includes(key) ? [...entries, [key, value]] : entries;
}
