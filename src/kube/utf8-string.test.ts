import fc from 'fast-check';
import { expect, test } from 'vitest';
import { utf8String } from './utf8-string.ts';

test('equals what Buffer.toString gives', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 100 }),
      fc.nat(3),
      fc.nat(3),
      (text, before, after) => {
        const bytes = Buffer.concat([
          Buffer.alloc(before, 0xff),
          Buffer.from(text),
          Buffer.alloc(after, 0xff),
        ]);
        expect(utf8String(bytes, before, bytes.length - after)).toBe(Buffer.from(text).toString('utf8'));
      },
    ),
  );
});
