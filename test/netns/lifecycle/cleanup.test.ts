import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { iptablesLines, ownIptablesLines } from './iptables-lines.ts';
import { nftNames } from './nft-table.ts';
import { NodeBed } from './node-bed.ts';
import { shop, shopNftables, WEB, writeShopIptables } from './shop.ts';
import { waitUntil } from './wait-until.ts';

let bed: NodeBed;
beforeAll(async () => {
  bed = await NodeBed.create();
});
afterAll(() => bed.close());
beforeEach(() => bed.reset());

/** Tables of others in nftables, with names like ours. */
const FOREIGN_NFT = `
table ip kube-proxy-hostports {
  set cluster-ips { type ipv4_addr; elements = { 10.96.0.10, 10.96.0.11 } }
  chain services { type filter hook forward priority 5; policy accept; ip daddr @cluster-ips accept; }
}
table inet kube-proxy { chain filter-input { type filter hook input priority 7; policy accept; }; }
table ip firewall { chain c { type filter hook forward priority 6; policy accept; }; }
`;

/** Rules and chains of kubelet, a CNI plugin and an operator in iptables; some of them look like kube-proxy's. */
const FOREIGN_IPTABLES = `*mangle
:KUBE-IPTABLES-HINT - [0:0]
:KUBE-KUBELET-CANARY - [0:0]
COMMIT
*filter
:KUBE-FIREWALL - [0:0]
:KUBE-KUBELET-CANARY - [0:0]
:KUBE-ROUTER-FORWARD - [0:0]
:KUBE-SERVICES-OF-MINE - [0:0]
:OPERATOR - [0:0]
-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT
-A FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-ROUTER-FORWARD
-A FORWARD -j KUBE-SERVICES-OF-MINE
-A KUBE-ROUTER-FORWARD -m mark --mark 0x4000/0x4000 -j ACCEPT
-A OPERATOR -s 203.0.113.0/24 -j DROP
COMMIT
*nat
:KUBE-KUBELET-CANARY - [0:0]
:KUBE-SVC-SHORT - [0:0]
:CNI-HOSTPORT-DNAT - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A POSTROUTING -s 10.244.0.0/16 ! -d 10.244.0.0/16 -j MASQUERADE
-A CNI-HOSTPORT-DNAT -p tcp -m tcp --dport 8443 -j DNAT --to-destination 10.244.1.2:8443
COMMIT
`;

/** The rules of ipvs mode, shortened. */
const IPVS = `*filter
:KUBE-FORWARD - [0:0]
:KUBE-IPVS-FILTER - [0:0]
:KUBE-IPVS-OUT-FILTER - [0:0]
:KUBE-NODE-PORT - [0:0]
:KUBE-PROXY-FIREWALL - [0:0]
:KUBE-SOURCE-RANGES-FIREWALL - [0:0]
-I FORWARD -m comment --comment "kubernetes forwarding rules" -j KUBE-FORWARD
-I INPUT -m comment --comment "kubernetes health check rules" -j KUBE-NODE-PORT
-I INPUT -m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL
-I FORWARD -m comment --comment "kube-proxy firewall rules" -j KUBE-PROXY-FIREWALL
-I INPUT -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-FILTER
-I OUTPUT -m comment --comment "kubernetes ipvs access filter" -j KUBE-IPVS-OUT-FILTER
-A KUBE-IPVS-FILTER -m set --match-set KUBE-CLUSTER-IP dst,dst -j RETURN
-A KUBE-PROXY-FIREWALL -j KUBE-SOURCE-RANGES-FIREWALL
-A KUBE-SOURCE-RANGES-FIREWALL -m set --match-set KUBE-LOOP-BACK dst,dst -j DROP
COMMIT
*nat
:KUBE-LOAD-BALANCER - [0:0]
:KUBE-MARK-MASQ - [0:0]
:KUBE-NODE-PORT - [0:0]
:KUBE-POSTROUTING - [0:0]
:KUBE-SERVICES - [0:0]
-I OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-I PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-I POSTROUTING -m comment --comment "kubernetes postrouting rules" -j KUBE-POSTROUTING
-A KUBE-SERVICES -s 127.0.0.0/8 -j RETURN
-A KUBE-SERVICES -m set --match-set KUBE-CLUSTER-IP dst,dst -j KUBE-LOAD-BALANCER
-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODE-PORT
-A KUBE-LOAD-BALANCER -j KUBE-MARK-MASQ
-A KUBE-MARK-MASQ -j MARK --or-mark 0x4000
COMMIT
`;

const backends = ['nft', 'legacy'] as const;

// Comes first: the kernel keeps tables of the legacy back-end in a namespace for good.
test('--cleanup on a clean node creates nothing', async () => {
  const cleanup = bed.startRaw(['--cleanup'], { env: bed.environment('nft') });
  expect((await cleanup.exited).code, cleanup.log).toBe(0);
  expect(await bed.run(['nft', 'list', 'ruleset'])).toBe('');
  for (const file of ['ip_tables_names', 'ip6_tables_names']) {
    const tables = await bed.testbed.agent('node1').readFile(`/proc/net/${file}`);
    expect((tables ?? '').trim()).toBe('');
  }
});

test('--cleanup removes what every mode of kube-proxy and ours has left, and nothing else', async () => {
  await plantForeign();
  const before = await everything();
  // kube-proxy's own rules of both modes, through both back-ends; then ours on top.
  for (const backend of backends) await writeShopIptables(bed, backend);
  await bed.run(['nft', '-f', '-'], shopNftables('10.244.1.13'));
  await bed.api.apply(...shop());
  await bed.synced(bed.start('iptables', { env: bed.environment('nft') }));
  await bed.endProxies();
  await bed.run(['nft', '-f', '-'], shopNftables('10.244.1.13'));
  await bed.api.control('POST /listener/stop'); // It needs no API.

  const cleanup = bed.startRaw(['--cleanup'], { env: bed.environment('nft') });
  const { code } = await cleanup.exited;
  expect(cleanup.lines(/^[WE]/)).toEqual([]);
  expect(code).toBe(0);
  expect(withoutJumps(await everything())).toEqual(withoutJumps(before));
  for (const backend of backends) {
    // Shared with kubelet: kube-proxy leaves chain and jumps as well.
    const jumps = (await iptablesLines(bed, backend)).filter((line) => line.endsWith('-j KUBE-FIREWALL'));
    expect(jumps.length, backend).toBeGreaterThan(0);
  }

  const again = bed.startRaw(['--cleanup', '-v=2'], { env: bed.environment('nft') });
  expect((await again.exited).code).toBe(0);
  expect(again.lines(/^[WE]/)).toEqual([]);
  expect(withoutJumps(await everything())).toEqual(withoutJumps(before));
});

test('--cleanup says what it cannot remove, removes the rest, and ends with status 1', async () => {
  await writeShopIptables(bed, 'nft');
  await bed.run(['nft', '-f', '-'], shopNftables());
  await bed.run(['iptables-nft', '-t', 'nat', '-A', 'OUTPUT', '-d', '203.0.113.9', '-j', 'KUBE-MARK-MASQ']);
  const cleanup = bed.startRaw(['--cleanup'], { env: bed.environment('nft') });
  expect((await cleanup.exited).code).toBe(1);
  expect(cleanup.lines(/^[WE].*KUBE-MARK-MASQ/).length).toBeGreaterThan(0);
  const left = (await ownIptablesLines(bed, 'nft')).filter((line) => !line.includes('KUBE-FIREWALL'));
  expect(left).toEqual([':KUBE-MARK-MASQ -', '-A OUTPUT -d 203.0.113.9/32 -j KUBE-MARK-MASQ']);
  expect((await nftNames(bed)).filter((name) => name.includes('kube-proxy'))).toEqual([]);
});

describe("kube-proxy's ipvs mode", () => {
  const SETS = ['KUBE-CLUSTER-IP', 'KUBE-LOOP-BACK', 'KUBE-IPVS-IPS'];
  /** As far as a kernel without IPVS goes: chains, jumps and sets. */
  async function writeIpvs(): Promise<void> {
    for (const set of SETS) await bed.run(['ipset', 'create', '-exist', set, 'hash:ip,port']);
    const set6 = 'KUBE-6-LOAD-BALANCER-SOURCE-CID';
    await bed.run(['ipset', 'create', '-exist', set6, 'hash:ip,port,net', 'family', 'inet6']);
    await bed.run(['iptables-nft-restore', '--noflush'], IPVS);
    await bed.run(
      ['ip6tables-nft-restore', '--noflush'],
      IPVS.replaceAll('127.0.0.0/8', '::1/128').replace(/^.*--match-set.*\n/gm, ''),
    );
  }

  const leftovers = async () => ({
    lines: (await ownIptablesLines(bed, 'nft')).filter((line) =>
      /NODE-PORT|LOAD-BALANCER|IPVS|SOURCE-RANGES|kube-proxy firewall/.test(line),
    ),
    sets: (await bed.run(['ipset', 'list', '-name']))
      .split('\n')
      .filter((name) => name !== '' && !name.endsWith('OF-MINE')),
  });
  const nothing = { lines: [], sets: [] };

  test('--cleanup removes its chains, jumps and sets', async () => {
    await writeIpvs();
    expect((await leftovers()).sets).toHaveLength(4);
    const cleanup = bed.startRaw(['--cleanup'], { env: bed.environment('nft') });
    expect((await cleanup.exited).code, cleanup.log).toBe(0);
    expect(await leftovers()).toEqual(nothing);
    expect(await ownIptablesLines(bed, 'nft')).toEqual([]);
  });

  test.each(['nftables', 'iptables'] as const)(
    'a start in %s mode removes them, once it serves',
    async (mode) => {
      await writeIpvs();
      await bed.api.apply(...shop());
      const proxy = bed.start(mode, { env: bed.environment('nft') });
      await bed.synced(proxy);
      await waitUntil('they are gone', async () => isDeepStrictEqual(await leftovers(), nothing)).catch(
        async () => expect(await leftovers(), proxy.log).toEqual(nothing),
      );
      expect(await bed.answers(`${WEB}:80`)).toBe(true);
      expect(await bed.answers('172.31.0.11:30080')).toBe(true);
      expect(proxy.lines(/^[WE].*(Leftovers|cannot remove)/)).toEqual([]);
    },
  );
});

describe('a start in one mode leaves the rules of others alone', () => {
  test.each(['nftables', 'iptables'] as const)('%s', async (mode) => {
    await plantForeign();
    const before = await everything();
    await bed.api.apply(...shop());
    const proxy = bed.start(mode, { env: bed.environment('nft') });
    await bed.answersSoon(proxy, `${WEB}:80`);
    await bed.synced(proxy);
    await proxy.end();
    const cleanup = bed.startRaw(['--cleanup'], { env: bed.environment('nft') });
    expect((await cleanup.exited).code, cleanup.log).toBe(0);
    expect(withoutJumps(await everything())).toEqual(withoutJumps(before));
  });
});

async function plantForeign(): Promise<void> {
  await bed.run(['nft', '-f', '-'], FOREIGN_NFT);
  for (const backend of backends) {
    const env = ['env', `XTABLES_LOCKFILE=${bed.lockFile}`];
    await bed.run([...env, `iptables-${backend}-restore`, '--noflush'], FOREIGN_IPTABLES);
  }
  await bed.run(['ipset', 'create', '-exist', 'KUBE-CLUSTER-IP-OF-MINE', 'hash:ip']);
}

/** Everything in the packet filters of the node, and its addresses. */
async function everything(): Promise<Record<string, unknown>> {
  const names = (await bed.run(['nft', 'list', 'tables'])).split('\n').filter(Boolean);
  const ofIptables = /^table ip6? (filter|nat|mangle|raw|security)$/;
  const tables = names.filter((line) => !ofIptables.test(line));
  const nft = tables.map((line) => bed.run(['nft', '-s', '-a', 'list', ...line.split(' ')]));
  return {
    nft: await Promise.all(nft),
    'iptables-nft': await iptablesLines(bed, 'nft'),
    'iptables-legacy': await iptablesLines(bed, 'legacy'),
    ipset: await bed.run(['ipset', 'list', '-name']),
    addresses: addresses(await bed.run(['ip', '-brief', 'address'])),
  };
}

/** Interfaces and their addresses from `ip -brief address`, without what the kernel changes by itself, and late. */
function addresses(listing: string): string[] {
  const ofKernel = (word: string) => word.startsWith('fe80:') || word.startsWith('metric');
  return listing
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .map(([device, _state, ...rest]) => [device, ...rest.filter((word) => !ofKernel(word))].join(' '));
}

/** Without what may stay by design: kubelet's chain with its jumps and its rule, and tables that are empty. */
function withoutJumps(all: Record<string, unknown>): Record<string, unknown> {
  const strip = (lines: readonly string[]) => {
    const kept = lines.filter((line) => !/KUBE-FIREWALL/.test(line));
    return kept.filter((line) => line.startsWith('-') || (line.startsWith(':') && line.endsWith(' -')));
  };
  const lists = ['iptables-nft', 'iptables-legacy'].map((key) => [key, strip(all[key] as string[])]);
  return { ...all, ...Object.fromEntries(lists) };
}
