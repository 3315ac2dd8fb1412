import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ownIptablesLines } from './iptables-lines.ts';
import { nftTable } from './nft-table.ts';
import { NodeBed } from './node-bed.ts';
import { service, slice } from './objects.ts';
import type { ProxyProcess } from './proxy-process.ts';
import { disturbances, shop, shopTraffic, WEB } from './shop.ts';
import { waitUntil } from './wait-until.ts';

let bed: NodeBed;
afterAll(() => bed.close());

/** Tables of others: one that looks like ours, one of another family, one with our names in it. */
const FOREIGN = `
table ip kube-proxy-hostports {
  chain services { type filter hook forward priority 5; policy accept; counter comment "foreign"; }
  set cluster-ips { type ipv4_addr; elements = { 10.96.0.10 } }
}
table inet kube-proxy {
  map m { type ipv4_addr : verdict; elements = { 10.96.0.10 : accept } }
  chain service-endpoints-check { ip daddr vmap @m; }
}
table bridge filter { chain c { type filter hook forward priority 0; policy accept; }; }
`;

let proxy: ProxyProcess;
let intact: unknown;
beforeAll(async () => {
  bed = await NodeBed.create();
  await bed.run(['nft', '-f', '-'], FOREIGN);
  await bed.api.apply(...shop());
  proxy = bed.start('nftables');
  await bed.synced(proxy);
  intact = await tables();
});

const edits: Record<string, { argv: readonly string[]; log: RegExp; ofIPv4Only?: boolean }> = {
  'delete the table': {
    argv: ['delete', 'table', 'ip', 'kube-proxy'],
    log: /deleted .* by nft \(pid \d+\)/,
    ofIPv4Only: true,
  },
  'empty a base chain': {
    argv: ['flush', 'chain', 'ip', 'kube-proxy', 'nat-prerouting'],
    log: /deleted rule.* by nft \(pid \d+\)/,
    ofIPv4Only: true,
  },
  'delete one element': {
    argv: ['delete', 'element', 'ip', 'kube-proxy', 'service-ips', `{ ${WEB} . tcp . 80 }`],
    log: /deleted element.*service-ips.* by nft \(pid \d+\)/,
    ofIPv4Only: true,
  },
  'add a rule': {
    argv: ['insert', 'rule', 'ip', 'kube-proxy', 'services', 'tcp', 'dport', '80', 'drop'],
    log: /added or changed rule.* by nft \(pid \d+\)/,
    ofIPv4Only: true,
  },
  'add a chain with a hook': {
    argv: [
      'add',
      'chain',
      'ip',
      'kube-proxy',
      'mine',
      '{ type filter hook forward priority 0; policy drop; }',
    ],
    log: /added or changed chain mine by nft \(pid \d+\)/,
    ofIPv4Only: true,
  },
  // Last: it takes the foreign tables along.
  'flush ruleset': { argv: ['flush', 'ruleset'], log: /deleted .* by nft \(pid \d+\)/ },
};

test('a chain of a Service that others deleted comes back, and clients keep their endpoints', async () => {
  const traffic = await bed.traffic({ sticky: shopTraffic.sticky, held: shopTraffic.held });
  const chain = await bed.run(['nft', '-j', 'list', 'table', 'ip', 'kube-proxy']);
  const name = /service-[A-Z0-9]+-default\/sticky\/tcp\/main/.exec(chain)![0];
  const rules = [
    `delete element ip kube-proxy service-ips { 10.96.0.11 . tcp . 80 }`,
    `delete chain ip kube-proxy ${name}`,
  ];
  await bed.run(['nft', '-f', '-'], `${rules.join('\n')}\n`);
  await waitUntil('the table is as before', asBefore);
  const { sticky, held } = await traffic.stop();
  expect(disturbances({ held: held! })).toEqual([]);
  expect(Object.keys(sticky!.servers)).toHaveLength(1);
});

test('changes of other tables and our own syncs are no foreign edits', async () => {
  const before = await foreignTables();
  const repaired = await repairs('IPv4');
  await bed.run(['nft', 'add', 'table', 'ip', 'other']);
  await bed.run(['nft', 'delete', 'table', 'ip', 'other']);
  const marker = shop().find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'web')!;
  const spec = {
    ...(marker['spec'] as object),
    clusterIP: '10.96.0.99',
    clusterIPs: ['10.96.0.99'],
    ipFamilies: ['IPv4'],
  };
  for (let round = 0; round < 5; round++) {
    await bed.api.apply({ ...marker, spec });
    await bed.answersSoon(proxy, '10.96.0.99:80');
    await bed.api.apply(marker);
    await bed.answersSoon(proxy, `${WEB}:80`);
  }
  expect(await repairs('IPv4')).toBe(repaired);
  expect(await foreignTables()).toBe(before);
});

test.each(Object.entries(edits))('%s: repaired at once', async (_, { argv, log, ofIPv4Only }) => {
  const foreign = argv.join(' ') === 'flush ruleset' ? undefined : await foreignTables();
  const before = { IPv4: await repairs('IPv4'), IPv6: await repairs('IPv6') };
  const logged = proxy.log.length;
  await bed.run(['nft', ...argv]);
  const took = await waitUntil('the tables are as before', asBefore, 20_000).catch(async (error) => {
    expect(await tables(), `${error}\n${proxy.log}`).toEqual(intact);
    return 0;
  });
  // The next full sync of its own accord would come after an hour, the retry of a failed one after 30 s.
  expect(took).toBeLessThan(10_000);
  expect(await bed.answers(`${WEB}:80`)).toBe(true);
  expect(proxy.log.slice(logged)).toMatch(log);
  expect(await repairs('IPv4')).toBe(before.IPv4 + 1);
  expect(await repairs('IPv6')).toBe(before.IPv6 + (ofIPv4Only === true ? 0 : 1));
  if (foreign !== undefined) expect(await foreignTables()).toBe(foreign);
});

test('connections go on while the whole ruleset is flushed and written again', async () => {
  const traffic = await bed.traffic({
    held: { ...shopTraffic.held, everyMilliseconds: 2 },
    udp: { ...shopTraffic.udp, everyMilliseconds: 10 },
  });
  for (let round = 0; round < 4; round++) {
    await bed.run(['nft', 'flush', 'ruleset']);
    // Repairs that follow each other so closely are paced.
    await waitUntil('the tables are as before', asBefore, 30_000);
  }
  expect(disturbances(await traffic.stop())).toEqual([]);
});

describe.each(['nft', 'legacy'] as const)('iptables mode on the back-end %s', (backend) => {
  test('flushed tables are written again', async () => {
    await bed.reset();
    await bed.api.apply(...shop());
    const config = { iptables: { minSyncPeriod: '10ms', syncPeriod: '1s' } };
    proxy = bed.start('iptables', { env: bed.environment(backend), config });
    await bed.synced(proxy);
    await waitUntil(
      'the canaries are planted',
      async () =>
        (await ownIptablesLines(bed, backend)).filter((line) => line.startsWith(':KUBE-PROXY-CANARY'))
          .length === 6,
    );
    const before = await ownIptablesLines(bed, backend);
    const lock = ['env', `XTABLES_LOCKFILE=${bed.lockFile}`];
    for (const family of ['iptables', 'ip6tables'])
      for (const table of ['mangle', 'filter', 'nat'])
        for (const flush of ['-F', '-X'])
          await bed.run([...lock, `${family}-${backend}`, '-w', '-t', table, flush]);
    const took = await waitUntil(
      'the rules are as before',
      async () => isDeepStrictEqual((await ownIptablesLines(bed, backend)).sort(), before.toSorted()),
      20_000,
    ).catch(async (error) =>
      expect(await ownIptablesLines(bed, backend), `${error}\n${proxy.log}`).toEqual(before),
    );
    expect(took).toBeLessThan(10_000);
    expect(await bed.answers(`${WEB}:80`)).toBe(true);
    expect(await repairs('IPv4')).toBeGreaterThan(0);
  });
});

test('iptables mode on the back-end nft: our own syncs are no edits by others, an edit by iptables right after one is', async () => {
  await bed.reset();
  await bed.api.apply(...shop());
  proxy = bed.start('iptables', { env: bed.environment('nft') });
  await bed.synced(proxy);
  const lines = () => ownIptablesLines(bed, 'nft');
  const dns = async (address: string) => {
    await bed.api.apply(slice('dns', [address], { protocol: 'UDP', port: 5353 }));
    await waitUntil(`${address} is programmed`, async () =>
      (await lines()).some((line) => line.includes(`--to-destination ${address}:5353`)),
    );
  };
  for (let last = 100; last < 110; last++) {
    await bed.api.apply(service(`more-${last}`, `10.96.0.${last}`), slice(`more-${last}`, ['10.244.1.2']));
    await dns(`10.244.1.${last}`);
    await bed.api.apply(slice('web', last % 2 === 0 ? ['10.244.1.2'] : ['10.244.1.2', '10.244.1.3']));
  }
  await bed.answersSoon(proxy, '10.96.0.109:80');
  expect(await repairs('IPv4'), proxy.log).toBe(0);
  await dns('10.244.1.2');
  await bed.run(['iptables-nft', '-t', 'nat', '-F', 'KUBE-SERVICES']);
  await bed.answersSoon(proxy, `${WEB}:80`);
  await waitUntil('the repair is counted', async () => (await repairs('IPv4')) > 0);
});

test('iptables mode on the back-end nft: connections go on while the whole ruleset is flushed and written again', async () => {
  await bed.reset();
  await bed.api.apply(...shop());
  proxy = bed.start('iptables', { env: bed.environment('nft') });
  await bed.synced(proxy);
  const rules = async () =>
    (await ownIptablesLines(bed, 'nft')).filter((line) => line.startsWith('-A')).sort();
  const before = await rules();
  const traffic = await bed.traffic({
    held: { ...shopTraffic.held, everyMilliseconds: 2 },
    udp: { ...shopTraffic.udp, everyMilliseconds: 10 },
  });
  for (let round = 0; round < 3; round++) {
    await bed.run(['nft', 'flush', 'ruleset']);
    await waitUntil(
      'the rules are as before',
      async () => isDeepStrictEqual(await rules(), before),
      30_000,
    ).catch(async (error) => expect(await rules(), `${error}\n${proxy.log}`).toEqual(before));
  }
  expect(disturbances(await traffic.stop())).toEqual([]);
});

function repairs(family: string): Promise<number> {
  return bed.metric(`fairlead_foreign_edits_repaired_total{ip_family="${family}"}`);
}

async function asBefore(): Promise<boolean> {
  return isDeepStrictEqual(await tables().catch(() => undefined), intact);
}

async function tables(): Promise<unknown> {
  return { ip: await nftTable(bed, 'ip'), ip6: await nftTable(bed, 'ip6') };
}

/** All tables but ours, as text with handles and without counters. */
async function foreignTables(): Promise<string> {
  const names = (await bed.run(['nft', 'list', 'tables'])).split('\n').filter(Boolean);
  const foreign = names.filter((line) => !/^table ip6? kube-proxy$/.test(line));
  const texts = await Promise.all(
    foreign.map((line) => bed.run(['nft', '-a', '-s', 'list', ...line.split(' ')])),
  );
  return texts.join('');
}
