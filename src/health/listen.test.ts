import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { type ConnectionTaker, type ListenError, listen, listenDualStack } from './listen.ts';

const ignore: ConnectionTaker = { accept: (socket) => socket.destroy(), acceptFailed: () => {} };

test('an error while accepting is told and ends nothing', async () => {
  const errors: Error[] = [];
  const address = { host: '127.0.0.1', port: 0, ipv6Only: false };
  const server = await listen(address, { ...ignore, acceptFailed: (error) => errors.push(error) });
  server.emit('error', new Error('accept EMFILE'));
  expect(errors).toMatchObject([{ message: 'accept EMFILE' }]);
  expect(server.listening).toBe(true);
  server.close();
});

test.each([
  ['192.0.2.1', 'EADDRNOTAVAIL', 'cannot listen on 192.0.2.1:12345: not an address of this host'],
  ['2001:db8::1', 'EADDRNOTAVAIL', 'cannot listen on [2001:db8::1]:12345: not an address of this host'],
])('an address of someone else: %s', async (host, errno, message) => {
  const error = await listenDualStack(host, 12_345, ignore).catch((reason: ListenError) => reason);
  expect(error).toMatchObject({ message, detail: { code: 'LISTEN_FAILED', host, port: 12_345, errno } });
});

test.each([
  ['0.0.0.0', '::'],
  ['::', '::'],
  ['127.0.0.1', '127.0.0.1'],
  ['::1', '::1'],
])('%s is bound as %s', async (host, bound) => {
  const server = await listenDualStack(host, 0, ignore);
  expect((server.address() as AddressInfo).address).toBe(bound);
  server.close();
});
