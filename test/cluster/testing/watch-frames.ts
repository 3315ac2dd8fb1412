export interface WatchFrame {
  readonly type: string;
  /** JSON: the object. Protobuf: the bytes of its envelope. */
  readonly object: unknown;
}

/** Cuts the body of a watch into its frames. Throws when it breaks off inside one. */
export function watchFrames(body: Buffer, encoding: string): WatchFrame[] {
  return encoding === 'json' ? jsonFrames(body) : protobufFrames(body);
}

function jsonFrames(body: Buffer): WatchFrame[] {
  const text = body.toString();
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line is not complete');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as WatchFrame);
}

function protobufFrames(body: Buffer): WatchFrame[] {
  const frames: WatchFrame[] = [];
  for (let at = 0; at < body.length; ) {
    const length = body.readUInt32BE(at);
    const frame = body.subarray(at + 4, at + 4 + length);
    if (frame.length < length) throw new Error('the last frame is not complete');
    const typeLength = frame[1]!;
    frames.push({
      type: frame.subarray(2, 2 + typeLength).toString('latin1'),
      object: frame.subarray(2 + typeLength),
    });
    at += 4 + length;
  }
  return frames;
}
