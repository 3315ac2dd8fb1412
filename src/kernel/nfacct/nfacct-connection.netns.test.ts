import { afterAll, beforeAll, expect, test } from 'vitest';
import { Namespace } from '../../../test/netns/namespace.ts';
import { isBusy, isNotFound } from '../netlink/netlink-error.ts';
import { NfacctConnection } from './nfacct-connection.ts';

let namespace: Namespace;
let connection: NfacctConnection;

beforeAll(() => {
  namespace = Namespace.create('flh-nfacct');
  connection = namespace.inside(() => NfacctConnection.open());
});

afterAll(() => {
  connection.close();
  namespace.delete();
});

function failure(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

test('a counter that does not exist', () => {
  expect(isNotFound(failure(() => connection.getCounter('absent')))).toBe(true);
});

test('rules count into it, ensuring it again keeps the value, a rule holds it', () => {
  connection.ensureCounter('pings');
  expect(connection.getCounter('pings')).toEqual({ packets: 0n, bytes: 0n });
  const rule = ['OUTPUT', '-d', '127.0.0.1', '-p', 'udp', '-m', 'nfacct', '--nfacct-name', 'pings'];
  namespace.run('iptables', '-A', ...rule);
  namespace.run('bash', '-c', 'for i in 1 2 3; do echo -n x > /dev/udp/127.0.0.1/9; done');
  connection.ensureCounter('pings');
  expect(connection.getCounter('pings')).toEqual({ packets: 3n, bytes: 87n });
  expect(isBusy(failure(() => connection.deleteCounter('pings')))).toBe(true);
  namespace.run('iptables', '-D', ...rule);
  connection.deleteCounter('pings');
  expect(isNotFound(failure(() => connection.getCounter('pings')))).toBe(true);
});

test('the longest name, and one that is too long', () => {
  const name = 'x'.repeat(31);
  connection.ensureCounter(name);
  expect(connection.getCounter(name).packets).toBe(0n);
  expect(() => connection.ensureCounter(`${name}x`)).toThrow(RangeError);
});
