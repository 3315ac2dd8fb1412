import { afterAll, beforeAll, expect, test } from 'vitest';
import { Namespace } from '../../../test/netns/namespace.ts';
import { IpsetConnection } from './ipset-connection.ts';

let namespace: Namespace;
let connection: IpsetConnection;

beforeAll(() => {
  namespace = Namespace.create('fli-ipset');
  connection = namespace.inside(() => IpsetConnection.open());
});

afterAll(() => {
  connection.close();
  namespace.delete();
});

test('a set is destroyed with its content, others stay', () => {
  for (const name of ['one', 'other']) namespace.run('ipset', 'create', name, 'hash:ip');
  namespace.run('ipset', 'add', 'one', '192.0.2.1');
  expect(connection.destroy('one')).toBe(true);
  expect(connection.destroy('one')).toBe(false);
  expect(namespace.run('ipset', 'list', '-name')).toBe('other\n');
});

test('a set that a rule uses stays', () => {
  namespace.run('ipset', 'create', 'used', 'hash:ip');
  namespace.run('iptables', '-A', 'INPUT', '-m', 'set', '--match-set', 'used', 'src', '-j', 'DROP');
  expect(() => connection.destroy('used')).toThrow(/destroy ipset used/);
});
