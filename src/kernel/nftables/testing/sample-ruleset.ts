import type { Elements, Family, NftMap, NftSet, Rule } from '../objects.ts';
import { PackedElements } from '../packed-elements.ts';
import {
  ctState,
  ctStatus,
  daddr,
  fibDaddrType,
  fibSaddrType,
  metaIifname,
  metaL4proto,
  metaMark,
  metaOifname,
  numgenRandom,
  saddr,
  thDport,
} from '../selector/selector.ts';
import type { Statement } from '../statement/statement.ts';
import { Transaction } from '../transaction.ts';

const TCP = 6;
const UDP = 17;
const SCTP = 132;
const MARK = 0x4000;

/** Addresses of the sample, so that tests can use them too. */
const sampleAddresses = (family: Family) => ({
  service: (n: number) => (family === 'ip' ? `10.96.0.${n}` : `fd00:96::${n}`),
  pod: (n: number) => (family === 'ip' ? `10.0.0.${n}` : `fd00:10::${n}`),
});

/** The sets and maps of the sample. */
export function sampleSets(family: Family) {
  const address = family === 'ip' ? 'ipv4_addr' : 'ipv6_addr';
  return {
    clusterIPs: { kind: 'set', name: 'cluster-ips', key: { type: [address] }, comment: 'Active ClusterIPs' },
    hairpin: {
      kind: 'set',
      name: 'hairpin-connections',
      key: { type: [address, address, 'inet_proto', 'inet_service'] },
      comment: 'service hairpin connections',
    },
    affinity: {
      kind: 'set',
      name: 'affinity-x',
      key: { type: [address] },
      flags: ['dynamic', 'timeout'],
      timeoutMs: 10_800_000,
    },
    clients: {
      kind: 'map',
      name: 'clients',
      key: { typeof: [saddr(family)] },
      data: { typeof: [thDport] },
      flags: ['dynamic', 'timeout'],
      timeoutMs: 10_000,
      size: 1000,
    },
    serviceIPs: {
      kind: 'map',
      name: 'service-ips',
      key: { type: [address, 'inet_proto', 'inet_service'] },
      data: 'verdict',
      size: 1000,
      comment: 'ClusterIP, ExternalIP and LoadBalancer IP traffic',
    },
    nodePorts: {
      kind: 'map',
      name: 'service-nodeports',
      key: { type: ['inet_proto', 'inet_service'] },
      data: 'verdict',
      counter: true,
    },
    endpoints: {
      kind: 'map',
      name: 'endpoints',
      key: { typeof: [daddr(family), metaL4proto, thDport, numgenRandom(2)] },
      data: { typeof: [daddr(family), thDport] },
      size: 100,
      counter: true,
    },
    nodePortEndpoints: {
      kind: 'map',
      name: 'nodeport-endpoints',
      key: { typeof: [metaL4proto, thDport, numgenRandom(2)] },
      data: { typeof: [daddr(family), thDport] },
    },
  } as const satisfies Record<string, NftSet | NftMap>;
}

/** Every kind of object, statement and set the dataplane uses, for tests of codecs and of the kernel. */
export function sampleRuleset(family: Family): Transaction {
  const sets = sampleSets(family);
  const transaction = new Transaction(family, 'kube-proxy').add({
    kind: 'table',
    comment: 'rules for kube-proxy',
  });
  const base = (
    name: string,
    type: 'nat' | 'filter',
    hook: 'prerouting' | 'forward' | 'postrouting',
    priority: number,
  ) => transaction.add({ kind: 'chain', name, base: { type, hook, priority } });
  base('nat-prerouting', 'nat', 'prerouting', -100);
  base('filter-forward', 'filter', 'forward', 0);
  base('nat-postrouting', 'nat', 'postrouting', 100);
  const input = { type: 'filter', hook: 'input', priority: -110, policy: 'drop' } as const;
  transaction.add({ kind: 'chain', name: 'filter-input', base: input, comment: 'base chain with a comment' });
  for (const name of ['services', 'a', 'b']) transaction.add({ kind: 'chain', name });
  transaction.add({
    kind: 'chain',
    name: 'reject-chain',
    comment: 'helper for @no-endpoint-services / @no-endpoint-nodeports',
  });
  for (const set of Object.values(sets)) transaction.add(set);
  for (const rule of sampleRules(family)) transaction.add(rule);
  for (const elements of sampleElements(family)) transaction.add(elements);
  return transaction;
}

/** The sample's rules: at least one of each kind of statement, in the forms the dataplane uses. */
export function sampleRules(family: Family): Rule[] {
  const v4 = family === 'ip';
  const { pod } = sampleAddresses(family);
  const source = [saddr(family)];
  const destination = [daddr(family)];
  const service = [daddr(family), metaL4proto, thDport];
  const match = (
    left: Extract<Statement, { kind: 'match' }>['left'],
    right: Extract<Statement, { kind: 'match' }>['right'],
    op: '==' | '!=' = '==',
  ) => ({ kind: 'match', left, op, right }) as const;
  const verdict = (text: Extract<Statement, { kind: 'verdict' }>['verdict']) =>
    ({ kind: 'verdict', verdict: text }) as const;
  const masquerade = { kind: 'mark', op: 'or', value: MARK } as const;
  const clusterIP = match(destination, { set: 'cluster-ips' });
  const anyTransport = match([metaL4proto], { values: ['udp', 'tcp', 'sctp'] });
  const rule = (chain: string, statements: Statement[], comment?: string): Rule => ({
    kind: 'rule',
    chain,
    statements,
    ...(comment === undefined ? {} : { comment }),
  });
  return [
    rule('nat-prerouting', [verdict('jump services')]),
    rule('filter-forward', [match([ctState], 'new'), verdict('jump reject-chain')]),
    rule('filter-forward', [match([ctState], 'established,related'), verdict('accept')]),
    rule('filter-input', [{ kind: 'counter' }, verdict('accept')]),
    rule(
      'services',
      [clusterIP, match(source, v4 ? '10.0.0.0/8' : 'fd00:10::/32', '!='), masquerade],
      'masquerade clusterIP traffic from outside cluster',
    ),
    rule('services', [clusterIP, match(source, v4 ? '10.0.0.0/9' : 'fd00:10::/33', '!='), masquerade]),
    rule('services', [clusterIP, match([metaIifname], 'br0', '!='), masquerade]),
    rule('services', [clusterIP, match([metaIifname], 'veth*', '!='), masquerade]),
    rule('services', [match([metaIifname], 'veth*'), match([metaOifname], 'lo'), verdict('goto a')]),
    rule('services', [clusterIP, masquerade], 'masquerade all clusterIP traffic'),
    rule('services', [{ kind: 'vmap', key: service, map: { set: 'service-ips' } }]),
    rule('services', [
      match([fibDaddrType], 'local'),
      match(destination, v4 ? '127.0.0.0/8' : '::1', '!='),
      { kind: 'vmap', key: [metaL4proto, thDport], map: { set: 'service-nodeports' } },
    ]),
    rule('reject-chain', [match([metaL4proto], 'tcp'), { kind: 'reject', with: 'tcp reset' }]),
    rule('reject-chain', [{ kind: 'reject' }]),
    rule(
      'services',
      [
        match(destination, {
          values: v4 ? ['10.98.0.0/16', '10.96.0.0/17'] : ['fd00:98::/64', 'fd00:96::/112'],
        }),
        verdict('drop'),
      ],
      'Drop traffic to unallocated ClusterIPs',
    ),
    rule('services', [
      match(destination, {
        values: v4 ? ['10.96.0.0/16', '10.97.0.0/17'] : ['fd00:96::/64', 'fd00:96:0:1::/65'],
      }),
      verdict('drop'),
    ]),
    rule('services', [
      match(destination, { values: [v4 ? '10.96.0.0/16' : 'fd00:96::/64'] }),
      verdict('drop'),
    ]),
    rule('services', [
      match(
        source,
        {
          values: v4
            ? ['203.0.113.0/25', '1.2.3.4', '255.255.255.255']
            : ['fd00:10::/32', 'fd00::1', 'ff00::/8'],
        },
        '!=',
      ),
      verdict('drop'),
    ]),
    rule('services', [
      match(source, { values: v4 ? ['0.0.0.0/1', '192.0.2.1-192.0.2.7'] : ['::/1', 'fd00::1-fd00::7'] }),
      verdict('drop'),
    ]),
    rule('nat-postrouting', [
      { kind: 'match', left: [metaMark], mask: MARK, op: '!=', right: 0 },
      { kind: 'mark', op: 'xor', value: MARK },
      { kind: 'masquerade', flags: ['fully-random'] },
    ]),
    rule('nat-postrouting', [
      match([ctStatus], 'dnat'),
      match([saddr(family), daddr(family), metaL4proto, thDport], { set: 'hairpin-connections' }),
      { kind: 'counter' },
      { kind: 'masquerade', flags: ['fully-random'] },
    ]),
    rule('services', [match([fibSaddrType], 'local'), masquerade], 'masquerade local traffic'),
    rule('services', [match([fibSaddrType], 'local'), verdict('goto a')], 'short-circuit local traffic'),
    rule('services', [match(source, { set: 'affinity-x' }), verdict('goto a')]),
    rule('services', [{ kind: 'update', op: 'update', set: 'affinity-x', key: source }]),
    rule('services', [{ kind: 'update', op: 'add', set: 'affinity-x', key: source, timeoutMs: 90_000 }]),
    rule('services', [
      match([metaL4proto], 'tcp'),
      { kind: 'update', op: 'update', set: 'clients', key: source, data: [thDport] },
    ]),
    rule('services', [
      match([metaL4proto], 'tcp'),
      { kind: 'dnat', to: { address: pod(1), port: 80 }, flags: ['persistent'] },
    ]),
    rule('services', [match([metaL4proto], 'tcp'), { kind: 'dnat', to: { address: pod(2) } }]),
    rule('services', [
      anyTransport,
      { kind: 'dnat', to: { key: [...service, numgenRandom(2)], map: { set: 'endpoints' } } },
    ]),
    rule('services', [
      anyTransport,
      {
        kind: 'dnat',
        to: { key: [metaL4proto, thDport, numgenRandom(7)], map: { set: 'nodeport-endpoints' } },
      },
    ]),
    rule('services', [
      match([metaL4proto], 'udp'),
      {
        kind: 'dnat',
        to: {
          key: [numgenRandom(2)],
          map: {
            addresses: [
              [1, pod(2), 81],
              [0, pod(1), 80],
            ],
          },
        },
      },
    ]),
    rule('services', [
      {
        kind: 'vmap',
        key: [numgenRandom(2)],
        map: {
          verdicts: [
            [1, 'goto b'],
            [0, 'goto a'],
          ],
        },
      },
    ]),
    rule('a', [
      { kind: 'mark', op: 'set', value: 7 },
      { kind: 'mark', op: 'and', value: 0xff00 },
      verdict('return'),
    ]),
    rule('b', [match([metaL4proto], 'sctp', '!='), verdict('accept')]),
  ];
}

/** Elements for each of the sample's sets. */
function sampleElements(family: Family): Elements[] {
  const sets = sampleSets(family);
  const { service, pod } = sampleAddresses(family);
  const fill = (of: NftSet | NftMap, write: (rows: PackedElements) => void): Elements => {
    const rows = PackedElements.for(of);
    write(rows);
    return { kind: 'elements', of, rows };
  };
  return [
    fill(sets.clusterIPs, (rows) => {
      for (let n = 1; n <= 20; n++) rows.begin().address(service(n));
    }),
    fill(sets.hairpin, (rows) => {
      rows.begin().address(pod(1)).address(pod(1)).protocol(TCP).port(80);
      rows.begin().address(pod(2)).address(pod(2)).protocol(SCTP).port(65_535);
    }),
    fill(sets.serviceIPs, (rows) => {
      rows.begin().address(service(1)).protocol(TCP).port(80).verdict('goto a').comment('ns/svc:p80');
      rows
        .begin()
        .address(service(1))
        .protocol(SCTP)
        .port(53)
        .verdict('drop')
        .comment(`ns/${'x'.repeat(200)}`);
      rows.begin().address(service(3)).protocol(UDP).port(53).verdict('goto b');
    }),
    fill(sets.nodePorts, (rows) => rows.begin().protocol(TCP).port(30_080).verdict('goto a').comment('ns/ß')),
    fill(sets.endpoints, (rows) => {
      for (const n of [0, 1, 2]) {
        rows.begin().address(service(1)).protocol(TCP).port(80).number(n).address(pod(n)).port(8080);
      }
    }),
    fill(sets.nodePortEndpoints, (rows) =>
      rows.begin().protocol(UDP).port(30_080).number(1).address(pod(1)).port(8080),
    ),
    fill(sets.affinity, (rows) => {
      rows.begin().address(pod(9)).timeout(1_000_000, 500_000);
      rows.begin().address(pod(8));
    }),
    fill(sets.clients, (rows) => rows.begin().address(pod(9)).port(80)),
  ];
}
