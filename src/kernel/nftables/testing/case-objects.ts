import type { Elements, NftMap, NftSet, Rule } from '../objects.ts';
import { PackedElements } from '../packed-elements.ts';
import { ipDaddr, metaL4proto, numgenRandom, thDport } from '../selector/selector.ts';
import type { Statement } from '../statement/statement.ts';
import type { Transaction } from '../transaction.ts';
import type { Verdict } from '../verdict.ts';

/** Small objects that tests of the kernel and of the fake are made of. */

export const table = { kind: 'table' } as const;
export const chain = (name: string) => ({ kind: 'chain', name }) as const;
export const prerouting = {
  kind: 'chain',
  name: 'prerouting',
  base: { type: 'nat', hook: 'prerouting', priority: -100 },
} as const;
export const rule = (to: string, ...statements: Statement[]): Rule => ({
  kind: 'rule',
  chain: to,
  statements,
});
export const verdict = (text: Verdict): Statement => ({ kind: 'verdict', verdict: text });

export const addresses: NftSet = { kind: 'set', name: 'addresses', key: { type: ['ipv4_addr'] } };
export const verdicts: NftMap = {
  kind: 'map',
  name: 'verdicts',
  key: { type: ['inet_proto', 'inet_service'] },
  data: 'verdict',
};
export const endpoints: NftMap = {
  kind: 'map',
  name: 'endpoints',
  key: { typeof: [metaL4proto, thDport, numgenRandom(2)] },
  data: { typeof: [ipDaddr, thDport] },
  size: 3,
};
export const affinity: NftSet = {
  kind: 'set',
  name: 'affinity',
  key: { type: ['ipv4_addr'] },
  flags: ['dynamic', 'timeout'],
  timeoutMs: 10_000,
};

export const address = (...ips: string[]): Elements => {
  const rows = PackedElements.for(addresses);
  for (const ip of ips) rows.begin().address(ip);
  return { kind: 'elements', of: addresses, rows };
};
export const portVerdict = (port: number, to: Verdict): Elements => ({
  kind: 'elements',
  of: verdicts,
  rows: PackedElements.for(verdicts).begin().protocol(6).port(port).verdict(to),
});
export const endpoint = (index: number, ip: string): Elements => ({
  kind: 'elements',
  of: endpoints,
  rows: PackedElements.for(endpoints).begin().protocol(6).port(80).number(index).address(ip).port(8080),
});

/** Adds the table alone. */
export const empty = (transaction: Transaction) => void transaction.add(table);

/** Adds one of each, the chains empty. */
export const some = (transaction: Transaction) =>
  void transaction
    .add(table)
    .add(prerouting)
    .add(chain('a'))
    .add(chain('b'))
    .add(addresses)
    .add(verdicts)
    .add(endpoints);
