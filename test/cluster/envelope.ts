/** Tag and length of a length-delimited field. */
export function lengthDelimited(field: number, length: number): Buffer {
  const bytes = [(field << 3) | 2];
  for (let rest = length; ; rest >>>= 7) {
    bytes.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest);
    if (rest <= 0x7f) return Buffer.from(bytes);
  }
}

/** Cuts an envelope written by the encoder into what stands before its `raw` field, and the bytes of `raw`. */
export function splitEnvelope(envelope: Buffer): { readonly head: Buffer; readonly raw: Buffer } {
  let at = 4;
  const varint = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = envelope[at++]!;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  at += 1;
  const typeMetaLength = varint();
  at += typeMetaLength;
  const head = envelope.subarray(0, at);
  at += 1;
  const rawLength = varint();
  return { head, raw: envelope.subarray(at, at + rawLength) };
}

/** A length-delimited field with this content. */
export function asField(field: number, content: Buffer): Buffer {
  return Buffer.concat([lengthDelimited(field, content.length), content]);
}
