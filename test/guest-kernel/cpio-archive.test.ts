import { expect, test } from 'vitest';
import { cpioArchive } from './cpio-archive.ts';

interface Entry {
  readonly mode: string;
  readonly text: string;
}

/** Reads what {@link cpioArchive} writes, from the description of the format: initramfs-buffer-format of the kernel. */
function read(archive: Buffer): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  const align = (offset: number): number => Math.ceil(offset / 4) * 4;
  let offset = 0;
  for (;;) {
    const field = (index: number): number =>
      Number.parseInt(archive.toString('latin1', offset + 6 + 8 * index, offset + 14 + 8 * index), 16);
    expect(archive.toString('latin1', offset, offset + 6)).toBe('070701');
    const [mode, size, nameSize] = [field(1), field(6), field(11)];
    const name = archive.toString('utf8', offset + 110, offset + 110 + nameSize - 1);
    const begin = align(offset + 110 + nameSize);
    if (name === 'TRAILER!!!') return entries;
    entries.set(name, { mode: mode.toString(8), text: archive.toString('utf8', begin, begin + size) });
    offset = align(begin + size);
  }
}

test('folders come before what is in them; names and contents of any length are aligned', () => {
  const archive = cpioArchive(
    [
      { path: 'init', contents: Buffer.from('#!/bin/sh\n'), executable: true },
      { path: 'modules/net/9p.ko', contents: Buffer.from('x') },
      { path: 'empty', contents: Buffer.alloc(0) },
    ],
    ['proc', 'memory/changes'],
  );
  const entries = read(archive);
  expect([...entries]).toEqual([
    ['memory', { mode: '40755', text: '' }],
    ['memory/changes', { mode: '40755', text: '' }],
    ['modules', { mode: '40755', text: '' }],
    ['modules/net', { mode: '40755', text: '' }],
    ['proc', { mode: '40755', text: '' }],
    ['init', { mode: '100755', text: '#!/bin/sh\n' }],
    ['modules/net/9p.ko', { mode: '100644', text: 'x' }],
    ['empty', { mode: '100644', text: '' }],
  ]);
  expect(archive.length % 4).toBe(0);
});
