import { expect, test } from 'vitest';
import { requireNetAdmin } from './privileges.ts';

const status = (capabilities: string) => () =>
  `Name:\tnode\nCapInh:\t0000000000000000\nCapEff:\t${capabilities}\n`;

test('the capability in question decides', () => {
  expect(() => requireNetAdmin(status('000001ffffffffff'))).not.toThrow();
  expect(() => requireNetAdmin(status('0000000000001000'))).not.toThrow();
  expect(() => requireNetAdmin(status('000001ffffffefff'))).toThrow(/CAP_NET_ADMIN/);
});

test('what cannot be told does not stop the start', () => {
  expect(() => requireNetAdmin(() => 'Name:\tnode\n')).not.toThrow();
  expect(() =>
    requireNetAdmin(() => {
      throw new Error('ENOENT');
    }),
  ).not.toThrow();
});
