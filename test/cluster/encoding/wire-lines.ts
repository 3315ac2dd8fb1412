/**
 * The fields of a protobuf message as lines `path=value`, in wire order, empty ones included: a form in which two
 * encodings can be compared. Guesses what a length-delimited field holds: the given paths are messages, all else text.
 */
export function wireLines(bytes: Buffer, isMessage: (path: string) => boolean, path = ''): string[] {
  const lines: string[] = [];
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new RangeError(`varint ends early in ${path}`);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const fieldPath = `${path}.${tag >> 3}`;
    if ((tag & 7) === 0) {
      lines.push(`${fieldPath}=${varint()}`);
      continue;
    }
    if ((tag & 7) !== 2) throw new RangeError(`wire type ${tag & 7} at ${fieldPath}`);
    const length = Number(varint());
    const content = bytes.subarray(at, at + length);
    at += length;
    if (content.length !== length) throw new RangeError(`${fieldPath} ends early`);
    if (isMessage(fieldPath)) lines.push(`${fieldPath}{`, ...wireLines(content, isMessage, fieldPath), '}');
    else lines.push(`${fieldPath}=${content.toString('latin1')}`);
  }
  return lines;
}
