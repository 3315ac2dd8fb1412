import type { ListMeta } from '../list-meta.ts';
import type { Mutable } from '../mutable.ts';
import type { WireReader } from './wire-reader.ts';

/** Reads a `metav1.ListMeta` message up to the reader's limit. Throws DecodeError. */
export function decodeListMeta(reader: WireReader): ListMeta {
  const meta: Mutable<ListMeta> = { resourceVersion: '', continue: '', remainingItemCount: undefined };
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    switch (field) {
      case 2:
        meta.resourceVersion = reader.string();
        break;
      case 3:
        meta.continue = reader.string();
        break;
      case 4:
        meta.remainingItemCount = reader.int64();
        break;
      default:
        reader.skip();
    }
  }
  return meta;
}
