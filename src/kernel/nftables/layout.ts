import { DATA_TYPES, type DataType, paddedLength } from './data-type.ts';
import type { Layout } from './objects.ts';
import { selectorType } from './selector/selector-type.ts';

/** The data types of a layout's fields. */
export function layoutTypes(layout: Layout): readonly DataType[] {
  return 'type' in layout ? layout.type : layout.typeof.map(selectorType);
}

/**
 * Bytes of a key or of data with these fields: a single field as it is, fields of a concatenation each padded to 4.
 */
export function layoutLength(types: readonly DataType[]): number {
  if (types.length === 1) return DATA_TYPES[types[0]!].length;
  let length = 0;
  for (const type of types) length += paddedLength(type);
  return length;
}

/** nft's number for a list of types: 6 bits each, the first one highest. */
export function layoutTypeId(types: readonly DataType[]): number {
  let id = 0;
  for (const type of types) id = id * 64 + DATA_TYPES[type].id;
  return id;
}
