import type { Chain, NftMap, NftSet, Rule } from '../../../kernel/nftables/objects.ts';
import { PackedElements } from '../../../kernel/nftables/packed-elements.ts';
import {
  ctState,
  metaL4proto,
  metaMark,
  numgenRandom,
  saddr,
} from '../../../kernel/nftables/selector/selector.ts';
import type { Statement } from '../../../kernel/nftables/statement/statement.ts';
import { Transaction } from '../../../kernel/nftables/transaction.ts';
import { goto, jump, markForMasquerade, type NftFamily, nodePortKey, serviceKey } from '../family-terms.ts';
import { TABLE } from '../names.ts';

export const upstreamAddresses = (family: NftFamily) => ({
  clusterIP: family === 'ip' ? '172.30.0.41' : 'fd00:172:30::41',
  endpoint: (n: number) => (family === 'ip' ? `10.180.0.${n}` : `fd00:10:180::${n}`),
  client: family === 'ip' ? '203.0.113.2' : '2600:5200::1',
});

/** Bases of the names (spec A7) of the endpoints 1 and 2 of ServicePort ns1/svc1:p80. */
export const upstreamEndpointBases = {
  ip: ['5OJB2KTY-ns1/svc1/tcp/p80__10.180.0.1/80', '2ZNDXFAB-ns1/svc1/tcp/p80__10.180.0.2/80'],
  ip6: ['ZVRFLKHO-ns1/svc1/tcp/p80__fd00.10.180..1/80', '2LXG5QOB-ns1/svc1/tcp/p80__fd00.10.180..2/80'],
} as const;

/**
 * A table of the shape that kube-proxy makes (spec A3 to A12): ServicePort ns1/svc1:p80 with affinity, two endpoints
 * and node port 3001, and a Service that is no more. One client is remembered by the first endpoint.
 */
export function upstreamTable(family: NftFamily): Transaction {
  const { clusterIP, endpoint, client } = upstreamAddresses(family);
  const address = family === 'ip' ? 'ipv4_addr' : 'ipv6_addr';
  const base = 'ULMVA6XW-ns1/svc1/tcp/p80';
  const gone = 'MHHHYRWA-ns2/svc2/tcp/p8080';
  const tx = new Transaction(family, TABLE).add({ kind: 'table', comment: 'rules for kube-proxy' });
  const chain = (name: string, hook?: Chain['base']) =>
    tx.add({ kind: 'chain', name, ...(hook === undefined ? {} : { base: hook }) });
  const rule = (to: string, ...statements: Statement[]) =>
    tx.add({ kind: 'rule', chain: to, statements } satisfies Rule);
  const tcp: Statement = { kind: 'match', left: [metaL4proto], op: '==', right: 'tcp' };

  chain('filter-input', { type: 'filter', hook: 'input', priority: 0 });
  chain('filter-forward', { type: 'filter', hook: 'forward', priority: 0 });
  chain('nat-prerouting', { type: 'nat', hook: 'prerouting', priority: -100 });
  chain('nat-output', { type: 'nat', hook: 'output', priority: -100 });
  chain('nat-postrouting', { type: 'nat', hook: 'postrouting', priority: 100 });
  for (const name of ['services', 'masquerading', 'service-endpoints-check']) chain(name);
  tx.add({
    kind: 'chain',
    name: 'reject-chain',
    comment: 'helper for @no-endpoint-services / @no-endpoint-nodeports',
  });
  for (const name of [`service-${base}`, `external-${base}`, `service-${gone}`]) chain(name);

  const clusterIPs: NftSet = { kind: 'set', name: 'cluster-ips', key: { type: [address] } };
  const serviceIPs: NftMap = {
    kind: 'map',
    name: 'service-ips',
    key: { type: [address, 'inet_proto', 'inet_service'] },
    data: 'verdict',
  };
  const nodePorts: NftMap = {
    kind: 'map',
    name: 'service-nodeports',
    key: { type: ['inet_proto', 'inet_service'] },
    data: 'verdict',
  };
  const noEndpoints: NftMap = { ...serviceIPs, name: 'no-endpoint-services' };
  for (const set of [clusterIPs, serviceIPs, nodePorts, noEndpoints]) tx.add(set);
  const elements = (of: NftSet | NftMap, fill: (rows: PackedElements) => void) => {
    const rows = PackedElements.for(of);
    fill(rows);
    tx.add({ kind: 'elements', of, rows });
  };
  elements(clusterIPs, (rows) => rows.begin().address(clusterIP));
  elements(serviceIPs, (rows) =>
    rows.begin().address(clusterIP).protocol(6).port(80).verdict(`goto service-${base}`),
  );
  elements(nodePorts, (rows) => {
    rows.begin().protocol(6).port(3001).verdict(`goto external-${base}`);
    rows.begin().protocol(6).port(3002).verdict(`goto service-${gone}`);
  });
  elements(noEndpoints, (rows) =>
    rows
      .begin()
      .address(endpoint(99))
      .protocol(6)
      .port(80)
      .verdict('goto reject-chain')
      .comment('ns3/svc3:p80'),
  );

  rule(
    'filter-input',
    { kind: 'match', left: [ctState], op: '==', right: 'new' },
    jump('service-endpoints-check'),
  );
  rule(
    'filter-forward',
    { kind: 'match', left: [ctState], op: '==', right: 'new' },
    jump('service-endpoints-check'),
  );
  rule('nat-prerouting', jump('services'));
  rule('nat-output', jump('services'));
  rule('nat-postrouting', jump('masquerading'));
  rule('services', { kind: 'vmap', key: serviceKey(family), map: { set: 'service-ips' } });
  rule('services', { kind: 'vmap', key: nodePortKey, map: { set: 'service-nodeports' } });
  rule('service-endpoints-check', {
    kind: 'vmap',
    key: serviceKey(family),
    map: { set: 'no-endpoint-services' },
  });
  rule('reject-chain', { kind: 'reject' });
  rule(`external-${base}`, markForMasquerade(0x4000));
  rule(`external-${base}`, goto(`service-${base}`));
  rule(`service-${gone}`, tcp, {
    kind: 'dnat',
    to: { key: [numgenRandom(1)], map: { addresses: [[0, endpoint(9), 80]] } },
  });
  for (const [index, name] of upstreamEndpointBases[family].entries()) {
    const affinity: NftSet = {
      kind: 'set',
      name: `affinity-${name}`,
      key: { type: [address] },
      flags: ['dynamic', 'timeout'],
      timeoutMs: 10_800_000,
    };
    tx.add(affinity);
    chain(`endpoint-${name}`);
    rule(`endpoint-${name}`, { kind: 'update', op: 'update', set: affinity.name, key: [saddr(family)] });
    rule(`endpoint-${name}`, tcp, { kind: 'dnat', to: { address: endpoint(index + 1), port: 80 } });
    rule(
      `service-${base}`,
      { kind: 'match', left: [saddr(family)], op: '==', right: { set: affinity.name } },
      goto(`endpoint-${name}`),
    );
    if (index === 0) elements(affinity, (rows) => rows.begin().address(client));
  }
  const [first, second] = upstreamEndpointBases[family];
  rule(`service-${base}`, {
    kind: 'vmap',
    key: [numgenRandom(2)],
    map: {
      verdicts: [
        [0, `goto endpoint-${first}`],
        [1, `goto endpoint-${second}`],
      ],
    },
  });
  rule(
    'masquerading',
    { kind: 'match', left: [metaMark], mask: 0x4000, op: '!=', right: 0 },
    { kind: 'mark', op: 'xor', value: 0x4000 },
    { kind: 'masquerade', flags: ['fully-random'] },
  );
  return tx;
}
