/** Methods of Buffer that its type declaration leaves out; `toString` only adds argument checks to them. */
interface SliceMethods {
  latin1Slice(start: number, end: number): string;
  utf8Slice(start: number, end: number): string;
}

/** The string of UTF-8 bytes: a flat one of its own, which never keeps the buffer alive. */
export function utf8String(bytes: Buffer, start: number, end: number): string {
  const source = bytes as Buffer & SliceMethods;
  if (end - start > maxScanned) return source.utf8Slice(start, end);
  let bits = 0;
  for (let i = start; i < end; i++) bits |= bytes[i]!;
  return bits > 0x7f ? source.utf8Slice(start, end) : asciiString(bytes, start, end);
}

/** The same for bytes known to be ASCII, which is what nearly all strings of the API are. */
export function asciiString(bytes: Buffer, start: number, end: number): string {
  return start === end ? '' : (bytes as Buffer & SliceMethods).latin1Slice(start, end);
}

/** Longer strings are rare and not worth the look. */
const maxScanned = 64;
