import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { encodeList, encodeObject, encodeWatchEvent } from './encode.ts';
import { type EncodableKind, kindShapes, listMeta } from './kind-shapes.ts';
import type { FieldShape } from './message-shape.ts';
import { wireLines } from './wire-lines.ts';

const recordings = join(import.meta.dirname, '../../recordings/apiserver');
const bytes = (file: string) => readFileSync(join(recordings, file));
const json = (file: string) => JSON.parse(readFileSync(join(recordings, file), 'utf8'));

/** Paths of all nested messages of an envelope that holds a list, or an object, of this kind. */
function messagePaths(kind: EncodableKind, root: 'list' | 'object'): (path: string) => boolean {
  const paths = new Set(['.1', '.2']);
  const add = (prefix: string, fields: readonly FieldShape[]) => {
    for (const { number, type } of fields) {
      if (type === 'string' || type === 'bool' || type === 'int') continue;
      paths.add(`${prefix}.${number}`);
      if (typeof type === 'object') add(`${prefix}.${number}`, type);
    }
  };
  if (root === 'object') add('.2', kindShapes[kind].fields);
  else {
    paths.add('.2.1').add('.2.2');
    add('.2.1', listMeta);
    add('.2.2', kindShapes[kind].fields);
  }
  return (path) => paths.has(path);
}

/** Recorded twins were made seconds apart: versions, uids and times differ, nothing else may. */
function comparable(buffer: Buffer, kind: EncodableKind, root: 'list' | 'object'): string[] {
  expect(buffer.subarray(0, 4).toString('latin1')).toBe('k8s\0');
  return wireLines(buffer.subarray(4), messagePaths(kind, root)).map((line) =>
    line
      .replace(/=[0-9a-f]{8}-[0-9a-f-]{27}$/, '=uid')
      .replace(/=18\d{8}$|=17\d{8}$/, '=seconds')
      .replace(/(\.1\.6|\.2\.1\.2)=\d+$/, '$1=version')
      .replace(/=eyJ2.*$/, '=token')
      .replace(/=10\.(97|110)\.\d+\.\d+$/, '=allocated')
      .replace(/("port":)\d+/, '$1'),
  );
}

/** The items of a list by name; what is outside the items under the name ''. */
function byName(lines: readonly string[]): Map<string, string[]> {
  const items = new Map<string, string[]>([['', []]]);
  let item: string[] | undefined;
  let depth = 0;
  for (const line of lines) {
    if (line === '.2.2{') {
      item = [];
      depth = 0;
    }
    (item ?? items.get('')!).push(line);
    depth += line.endsWith('{') ? 1 : line === '}' ? -1 : 0;
    if (item === undefined || depth > 0) continue;
    items.set(item.find((entry) => entry.startsWith('.2.2.1.1='))!, item);
    item = undefined;
  }
  return items;
}

describe('the encoder writes what kube-apiserver writes', () => {
  test.each([
    ['services-list', 'Service', 7],
    ['services-list-page1', 'Service', 3],
    ['endpointslices-list', 'EndpointSlice', 3],
    ['node-list-by-name', 'Node', 1],
    ['servicecidrs-list', 'ServiceCIDR', 1],
  ] as const)('%s', (file, kind, count) => {
    const list = json(`${file}.json`);
    const encoded = byName(comparable(encodeList(kind, list.items, list.metadata), kind, 'list'));
    const recorded = byName(comparable(bytes(`${file}.pb`), kind, 'list'));
    // The Service "kubernetes" and its slice appeared between the recordings, and one slice was changed.
    const generation = (lines: string[] | undefined) => lines?.find((line) => line.startsWith('.2.2.1.7='));
    const same = [...recorded.keys()].filter(
      (name) => generation(encoded.get(name)) === generation(recorded.get(name)),
    );
    const shared = same.filter((name) => encoded.has(name));
    expect(shared.length).toBe(count + 1);
    for (const name of shared) expect(encoded.get(name)).toEqual(recorded.get(name));
  });

  test.each(['node-get-missing', 'unauthorized', 'forbidden', 'list-continue-expired'])('%s', (file) => {
    const encoded = comparable(encodeObject('Status', json(`${file}.json`)), 'Status', 'object');
    expect(encoded).toEqual(comparable(bytes(`${file}.pb`), 'Status', 'object'));
  });

  test.each([
    ['services-watch', 'Service', 3],
    ['watch-label-leaves-selector', 'Service', 2],
    ['endpointslices-watchlist', 'EndpointSlice', 5],
    ['watch-expired', 'Status', 1],
  ] as const)('%s', (file, kind, count) => {
    const events = readFileSync(join(recordings, `${file}.json`), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const encoded = frames(
      Buffer.concat(events.map(({ type, object }) => encodeWatchEvent(type, kind, object))),
    );
    const recorded = frames(bytes(`${file}.pb`));
    const lines = ({ type, object }: Frame) =>
      [type, ...comparable(object, kind, 'object')].map((line) => line.replace(/version: .*$/, ''));
    // The twins saw different moments: an event counts when its like was recorded.
    const known = new Set(recorded.map((frame) => lines(frame).join('\n')));
    const matches = encoded.filter((frame) => known.has(lines(frame).join('\n')));
    expect(matches.length).toBe(count);
  });
});

interface Frame {
  readonly type: string;
  readonly object: Buffer;
}

/** Splits a watch stream; a frame is a WatchEvent `{1: type, 2: {1: object in its envelope}}`. */
function frames(stream: Buffer): Frame[] {
  const result: Frame[] = [];
  for (let at = 0; at < stream.length; ) {
    const length = stream.readUInt32BE(at);
    const frame = stream.subarray(at + 4, at + 4 + length);
    at += 4 + length;
    const [type, , object] = wireLines(frame, (path) => path === '.2');
    result.push({ type: type!.slice(3), object: Buffer.from(object!.slice('.2.1='.length), 'latin1') });
  }
  return result;
}
