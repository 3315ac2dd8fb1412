import { describeError } from '../../base/fairlead-error.ts';
import { DecodeError } from '../decode-error.ts';
import type { BadObject } from '../watch-event.ts';
import { decodeObjectMeta } from './decode-object-meta.ts';
import { WireReader } from './wire-reader.ts';

/** Describes an object message that failed to decode, naming it as far as its metadata (field 1) can be read. */
export function badProtobufObject(
  kind: string,
  bytes: Buffer,
  start: number,
  end: number,
  error: unknown,
): BadObject {
  const identity = { kind, namespace: '', name: '', resourceVersion: '', reason: describeError(error) };
  const reader = new WireReader(bytes, start, end);
  try {
    for (let field = reader.next(); field !== 0; field = reader.next()) {
      if (field !== 1) reader.skip();
      else {
        const { namespace, name, resourceVersion } = decodeObjectMeta(reader, {});
        return { ...identity, namespace, name, resourceVersion };
      }
    }
  } catch (second) {
    if (!(second instanceof DecodeError)) throw second;
  }
  return identity;
}
