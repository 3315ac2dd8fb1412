import type { WireReader } from './wire-reader.ts';

/** The part of a `metav1.ObjectMeta` that some kind needs. */
export interface ObjectMeta {
  namespace: string;
  name: string;
  uid: string;
  resourceVersion: string;
  /** Milliseconds since the epoch, 0 where absent. */
  creationTimestamp: number;
  deletionTimestamp: number | undefined;
  /** Values of the one label and annotation that were asked for, `''` where absent. */
  label: string;
  annotation: string;
  /** All labels, where asked for. */
  labels: [key: string, value: string][] | undefined;
}

/** Which of the costly parts are wanted. */
export interface ObjectMetaSelection {
  readonly uid?: boolean;
  /** Key of the only label, and of the only annotation, that matters. */
  readonly label?: string;
  readonly annotation?: string;
  readonly allLabels?: boolean;
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
    label: '',
    annotation: '',
    labels: selection.allLabels === true ? [] : undefined,
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
        if (meta.labels !== undefined) meta.labels.push(decodeMapEntry(reader));
        else meta.label = decodeValueOf(reader, selection.label) ?? meta.label;
        break;
      case 12:
        meta.annotation = decodeValueOf(reader, selection.annotation) ?? meta.annotation;
        break;
      default:
        reader.skip();
    }
  }
  reader.leave(outer);
  return meta;
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

/** Reads one entry `{1: key, 2: value}` of a string map. */
function decodeMapEntry(reader: WireReader): [key: string, value: string] {
  let key = '';
  let value = '';
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) key = reader.sharedString();
    else if (field === 2) value = reader.string();
    else reader.skip();
  }
  reader.leave(outer);
  return [key, value];
}

/** Reads one entry of a string map: its value if it has this key, otherwise undefined. Other keys cost no string. */
function decodeValueOf(reader: WireReader, key: string | undefined): string | undefined {
  if (key === undefined) {
    reader.skip();
    return undefined;
  }
  let hasKey: boolean | undefined;
  let value = '';
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) hasKey = reader.isString(key);
    // A value before its key may be the wanted one; Go writes keys first.
    else if (field === 2 && hasKey !== false) value = reader.string();
    else reader.skip();
  }
  reader.leave(outer);
  return hasKey === true ? value : undefined;
}
