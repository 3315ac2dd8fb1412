import { EBUSY, EEXIST, EINVAL, ENOENT, EOPNOTSUPP, ERANGE } from '../../native/errno.ts';
import { PackedElements } from '../packed-elements.ts';
import { ipDaddr, ipSaddr, metaL4proto, thDport } from '../selector/selector.ts';
import type { Statement } from '../statement/statement.ts';
import {
  address,
  addresses,
  affinity,
  chain,
  empty,
  endpoint,
  endpoints,
  portVerdict,
  prerouting,
  rule,
  some,
  table,
  verdict,
  verdicts,
} from './case-objects.ts';
import { type KernelCase, tableCases } from './table-cases.ts';

const ENFILE = 23;
const EMLINK = 31;

const inSet: Statement = { kind: 'match', left: [ipDaddr], op: '==', right: { set: 'addresses' } };
const byPort: Statement = { kind: 'vmap', key: [metaL4proto, thDport], map: { set: 'verdicts' } };

/** What the kernel does to tables, chains, rules, sets and elements. */
export const kernelCases: readonly KernelCase[] = [
  ...tableCases,
  { name: 'a chain can be added twice', given: some, when: (tx) => tx.add(chain('a')) },
  {
    name: 'a chain cannot be created twice',
    given: some,
    when: (tx) => tx.create(chain('a')),
    errno: EEXIST,
    at: 0,
  },
  {
    name: 'a base chain cannot move',
    given: some,
    when: (tx) => tx.add({ ...prerouting, base: { ...prerouting.base, priority: 0 } }),
    errno: EOPNOTSUPP,
    olderErrno: EEXIST,
    at: 0,
  },
  {
    name: 'a base chain can be replaced',
    given: some,
    when: (tx) =>
      tx.destroy(chain('prerouting')).add({ ...prerouting, base: { ...prerouting.base, priority: 0 } }),
  },
  {
    name: 'a plain chain does not become a base chain',
    given: some,
    when: (tx) => tx.add({ ...prerouting, name: 'a' }),
    errno: EOPNOTSUPP,
    at: 0,
  },
  {
    name: 'a base chain can change its policy',
    given: some,
    when: (tx) => tx.add({ ...prerouting, base: { ...prerouting.base, policy: 'drop' } }),
  },
  {
    name: 'a chain name has 255 bytes at most',
    given: some,
    when: (tx) => tx.add(chain('x'.repeat(256))),
    errno: ERANGE,
    at: 0,
  },
  { name: 'a chain name of 255 bytes is fine', given: some, when: (tx) => tx.add(chain('x'.repeat(255))) },
  {
    name: 'a missing chain cannot be deleted',
    given: some,
    when: (tx) => tx.delete(chain('c')),
    errno: ENOENT,
    at: 0,
  },
  {
    name: 'a missing chain cannot be flushed',
    given: some,
    when: (tx) => tx.flush(chain('c')),
    errno: ENOENT,
    at: 0,
  },
  {
    name: 'a chain is deleted with its rules',
    given: (tx) => {
      some(tx);
      tx.add(rule('a', verdict('drop')));
    },
    when: (tx) => tx.delete(chain('a')),
  },
  {
    name: 'a chain cannot go while a rule jumps to it',
    given: (tx) => {
      some(tx);
      tx.add(rule('prerouting', verdict('jump a')));
    },
    when: (tx) => tx.delete(chain('a')),
    errno: EBUSY,
    at: 0,
  },
  {
    name: 'a chain can go with the rule that jumps to it',
    given: (tx) => {
      some(tx);
      tx.add(rule('prerouting', verdict('jump a')));
    },
    when: (tx) => tx.flush(chain('prerouting')).delete(chain('a')),
  },
  {
    name: 'a chain cannot go while an element leads to it',
    given: (tx) => {
      some(tx);
      tx.add(portVerdict(80, 'goto a'));
    },
    when: (tx) => tx.delete(chain('a')),
    errno: EBUSY,
    at: 0,
  },
  {
    name: 'a chain can go with the element that leads to it',
    given: (tx) => {
      some(tx);
      tx.add(portVerdict(80, 'goto a'));
    },
    when: (tx) => tx.delete(portVerdict(80, 'goto a')).delete(chain('a')),
  },
  {
    name: 'a chain can go with the set that leads to it',
    given: (tx) => {
      some(tx);
      tx.add(portVerdict(80, 'goto a'));
    },
    when: (tx) => tx.delete(verdicts).delete(chain('a')),
  },
  {
    name: 'a rule needs its chain',
    given: some,
    when: (tx) => tx.add(rule('c', verdict('drop'))),
    errno: ENOENT,
    at: 0,
  },
  {
    name: 'a rule needs its set',
    given: empty,
    when: (tx) => tx.add(chain('a')).add(rule('a', inSet)),
    errno: ENOENT,
    at: 1,
  },
  {
    name: 'a jump needs its chain',
    given: some,
    when: (tx) => tx.add(rule('a', verdict('jump c'))),
    errno: ENOENT,
    at: 0,
  },
  {
    name: 'a rule may use what the same transaction adds before it',
    given: () => {},
    when: (tx) =>
      tx
        .add(table)
        .add(chain('a'))
        .add(addresses)
        .add(rule('a', inSet, verdict('drop'))),
  },
  {
    name: 'flushing a table removes rules, not sets and elements',
    given: (tx) => {
      some(tx);
      tx.add(rule('prerouting', verdict('jump a')))
        .add(rule('a', inSet, verdict('drop')))
        .add(address('10.0.0.1'));
    },
    when: (tx) => tx.flush(table),
  },
  {
    name: 'a set can be added twice',
    given: some,
    when: (tx) => tx.add(addresses).add(verdicts).add(endpoints),
  },
  {
    name: 'a set cannot be created twice',
    given: some,
    when: (tx) => tx.create(addresses),
    errno: EEXIST,
    at: 0,
  },
  {
    name: 'a set cannot change its type',
    given: some,
    when: (tx) => tx.add({ ...addresses, key: { type: ['inet_service'] } }),
    errno: EEXIST,
    at: 0,
  },
  {
    name: 'a set cannot change its flags',
    given: some,
    when: (tx) => tx.add({ ...addresses, flags: ['timeout'] }),
    errno: EEXIST,
    at: 0,
  },
  {
    name: 'a missing set cannot be deleted',
    given: empty,
    when: (tx) => tx.delete(addresses),
    errno: ENOENT,
    at: 0,
  },
  {
    name: 'a missing set cannot be flushed',
    given: empty,
    when: (tx) => tx.flush(addresses),
    errno: ENOENT,
    at: 0,
  },
  {
    name: 'a set cannot go while a rule uses it',
    given: (tx) => {
      some(tx);
      tx.add(rule('a', inSet));
    },
    when: (tx) => tx.delete(addresses),
    errno: EBUSY,
    at: 0,
  },
  {
    name: 'a set can go with the rule that uses it, and come back with other elements',
    given: (tx) => {
      some(tx);
      tx.add(rule('a', inSet)).add(address('10.0.0.1', '10.0.0.2'));
    },
    when: (tx) =>
      tx.flush(table).delete(addresses).add(addresses).add(address('10.0.0.3')).add(rule('a', inSet)),
  },
  {
    name: 'flushing a set keeps the set',
    given: (tx) => {
      some(tx);
      tx.add(address('10.0.0.1', '10.0.0.2'));
    },
    when: (tx) => tx.flush(addresses).add(address('10.0.0.9')),
  },
  {
    name: 'a set with a timeout takes over another one',
    given: (tx) => void tx.add(table).add(affinity),
    when: (tx) => tx.add({ ...affinity, timeoutMs: 20_000 }),
  },
  {
    name: 'an element can be added twice',
    given: (tx) => {
      some(tx);
      tx.add(address('10.0.0.1')).add(portVerdict(80, 'goto a')).add(endpoint(0, '10.0.0.1'));
    },
    when: (tx) => tx.add(address('10.0.0.1')).add(portVerdict(80, 'goto a')).add(endpoint(0, '10.0.0.1')),
  },
  {
    name: 'an element cannot be created twice',
    given: (tx) => {
      some(tx);
      tx.add(address('10.0.0.1'));
    },
    when: (tx) => tx.create(address('10.0.0.1')),
    errno: EEXIST,
    at: 0,
  },
  {
    name: 'a verdict cannot be overwritten',
    given: (tx) => {
      some(tx);
      tx.add(portVerdict(80, 'goto a'));
    },
    when: (tx) => tx.add(portVerdict(80, 'goto b')),
    errno: EEXIST,
    at: 0,
  },
  {
    name: 'a verdict is changed by delete and add',
    given: (tx) => {
      some(tx);
      tx.add(portVerdict(80, 'goto a'));
    },
    when: (tx) => tx.delete(portVerdict(80, 'goto a')).add(portVerdict(80, 'goto b')),
  },
  {
    name: 'data cannot be overwritten',
    given: (tx) => {
      some(tx);
      tx.add(endpoint(0, '10.0.0.1'));
    },
    when: (tx) => tx.add(endpoint(0, '10.0.0.2')),
    errno: EEXIST,
    at: 0,
  },
  {
    name: 'data is changed by delete and add',
    given: (tx) => {
      some(tx);
      tx.add(endpoint(0, '10.0.0.1'));
    },
    when: (tx) => tx.delete(endpoint(0, '10.0.0.1')).add(endpoint(0, '10.0.0.2')),
  },
  {
    name: 'a missing element cannot be deleted',
    given: some,
    when: (tx) => tx.delete(address('10.0.0.1')),
    errno: ENOENT,
    at: 0,
  },
  {
    name: 'an element needs its set',
    given: empty,
    when: (tx) => tx.add(address('10.0.0.1')),
    errno: ENOENT,
    at: 0,
  },
  {
    name: 'an element needs the chain it leads to',
    given: some,
    when: (tx) => tx.add(portVerdict(80, 'goto c')),
    errno: ENOENT,
    at: 0,
  },
  {
    name: 'an element cannot lead to a base chain',
    given: some,
    when: (tx) => tx.add(portVerdict(80, 'goto prerouting')),
    errno: EOPNOTSUPP,
    at: 0,
  },
  {
    name: 'a set has no more elements than its size',
    given: (tx) => {
      some(tx);
      for (const index of [0, 1, 2]) tx.add(endpoint(index, '10.0.0.1'));
    },
    when: (tx) => tx.add(endpoint(3, '10.0.0.1')),
    errno: ENFILE,
    at: 0,
  },
  {
    name: 'only sets with the flag have timeouts',
    given: some,
    when: (tx) =>
      tx.add({ kind: 'elements', of: addresses, rows: PackedElements.for(addresses).begin().timeout(1000) }),
    errno: EINVAL,
    at: 0,
  },
  {
    name: 'chains must not lead back to themselves',
    given: (tx) => {
      some(tx);
      tx.add(rule('prerouting', verdict('jump a'))).add(rule('a', verdict('jump b')));
    },
    when: (tx) => tx.add(rule('b', verdict('jump a'))),
    errno: EMLINK,
  },
  {
    name: 'elements must not lead back either',
    given: (tx) => {
      some(tx);
      tx.add(rule('prerouting', verdict('jump a'))).add(rule('a', byPort));
    },
    when: (tx) => tx.add(portVerdict(80, 'goto a')),
    errno: EMLINK,
  },
  {
    name: 'a loop that no base chain leads to is allowed',
    given: some,
    when: (tx) => tx.add(rule('a', verdict('jump b'))).add(rule('b', verdict('jump a'))),
  },
  {
    name: 'masquerade does not work in prerouting',
    given: some,
    when: (tx) => tx.add(rule('prerouting', { kind: 'masquerade' })),
    errno: EOPNOTSUPP,
  },
  {
    name: 'masquerade is found behind a verdict map',
    given: (tx) => {
      some(tx);
      tx.add(rule('prerouting', byPort)).add(rule('a', { kind: 'masquerade' }));
    },
    when: (tx) => tx.add(portVerdict(80, 'goto a')),
    errno: EOPNOTSUPP,
  },
  {
    name: 'dnat works in prerouting',
    given: some,
    when: (tx) => tx.add(rule('prerouting', { kind: 'dnat', to: { address: '10.0.0.1' } })),
  },
  {
    name: 'dnat does not work in a filter chain',
    given: (tx) => {
      tx.add(table).add({ ...prerouting, base: { type: 'filter', hook: 'forward', priority: 0 } });
    },
    when: (tx) => tx.add(rule('prerouting', { kind: 'dnat', to: { address: '10.0.0.1' } })),
    errno: EOPNOTSUPP,
  },
  {
    name: 'nothing is applied when the last operation fails',
    given: some,
    when: (tx) => tx.add(chain('c')).add(address('10.0.0.1')).delete(chain('missing')),
    errno: ENOENT,
    at: 2,
  },
  {
    name: 'a rule with a set written in place leaves nothing behind when it goes',
    given: (tx) => {
      some(tx);
      tx.add(
        rule('a', {
          kind: 'match',
          left: [ipSaddr],
          op: '!=',
          right: { values: ['10.0.0.0/8', '192.0.2.1'] },
        }),
      );
    },
    when: (tx) => tx.flush(chain('a')),
  },
];
