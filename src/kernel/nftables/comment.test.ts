import fc from 'fast-check';
import { expect, test } from 'vitest';
import { commentText, commentUserdata, cutComment, isPlainComment, userdataComment } from './comment.ts';

test('comments come back, cut to 127 bytes at a character', () => {
  expect(userdataComment(commentUserdata('ns/svc:p80'))).toBe('ns/svc:p80');
  expect(cutComment('x'.repeat(200))).toBe('x'.repeat(127));
  expect(cutComment(`${'x'.repeat(126)}ß`)).toBe('x'.repeat(126));
  expect(cutComment(`${'x'.repeat(125)}ß`)).toBe(`${'x'.repeat(125)}ß`);
  expect(cutComment('a "quoted"\nline\0')).toBe("a 'quoted' line ");
  expect(commentText(undefined)).toBe('');
  expect(commentText('a "b"')).toBe(` comment "a 'b'"`);
});

test('no comment is longer than nft allows, or loses more than it must', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const cut = cutComment(text);
      expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(127);
      expect(cut).not.toContain('�');
      expect(userdataComment(commentUserdata(text))).toBe(cut);
      if (isPlainComment(text)) expect(cut).toBe(text);
      if (Buffer.byteLength(text) > 127) expect(Buffer.byteLength(cut)).toBeGreaterThan(123);
    }),
  );
});
