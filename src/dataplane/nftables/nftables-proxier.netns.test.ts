import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Namespace } from '../../../test/netns/namespace.ts';
import { describeTable } from '../../kernel/nftables/describe-table.ts';
import { NftablesConnection } from '../../kernel/nftables/nftables-connection.ts';
import { PackedElements } from '../../kernel/nftables/packed-elements.ts';
import { Transaction } from '../../kernel/nftables/transaction.ts';
import type { ServiceFields } from '../../model/testing/objects.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { cleanupNftables } from './cleanup.ts';
import { jump, nftFamily } from './family-terms.ts';
import { buildFullSync } from './full-sync.ts';
import { CHAINS, TABLE } from './names.ts';
import { namedSets } from './sets.ts';
import { damages } from './testing/damages.ts';
import { applyChange, randomChange, randomSettings } from './testing/random-changes.ts';
import { sampleCluster } from './testing/sample-cluster.ts';
import { fullySynced, TestTable } from './testing/test-table.ts';
import { upstreamAddresses, upstreamEndpointBases, upstreamTable } from './testing/upstream-table.ts';

let namespace: Namespace;
let other: Namespace;
let kernel: NftablesConnection;
let otherKernel: NftablesConnection;
let folder: string;

beforeAll(() => {
  namespace = Namespace.create('flk-proxy');
  other = Namespace.create('flk-nft');
  kernel = namespace.inside(() => NftablesConnection.open());
  otherKernel = other.inside(() => NftablesConnection.open());
  folder = mkdtempSync(join(tmpdir(), 'fairlead-proxier-'));
});

afterAll(() => {
  kernel?.close();
  otherKernel?.close();
  namespace?.delete();
  other?.delete();
  rmSync(folder, { recursive: true, force: true });
});

const families = ['ip', 'ip6'] as const;

function removeTables(): void {
  for (const connection of [kernel, otherKernel]) {
    for (const family of families)
      connection.commit(new Transaction(family, TABLE).destroy({ kind: 'table' }));
  }
}

beforeEach(removeTables);

/** A listing by the nft program, without what differs from run to run: times left and the order of elements. */
function nftList(of: Namespace, family: string): string {
  const text = of.run('nft', 'list', 'table', family, TABLE).replaceAll(/ expires [0-9a-z]+/g, '');
  return text.replaceAll(/elements = \{([^}]*)\}/g, (_, elements: string) => {
    const sorted = elements
      .split(',')
      .map((element) => element.trim())
      .sort();
    return `elements = { ${sorted.join(', ')} }`;
  });
}

function nftLoad(into: Namespace, text: string): void {
  const file = join(folder, 'table.nft');
  writeFileSync(file, text);
  into.run('nft', '-f', file);
}

/** The table that the other kernel holds after one full sync of a cluster over nothing. */
async function freshly(cluster: TestCluster): Promise<TestTable<NftablesConnection>> {
  const family = nftFamily(cluster.settings.family);
  otherKernel.commit(new Transaction(family, TABLE).destroy({ kind: 'table' }));
  const table = new TestTable(cluster, otherKernel);
  await table.fullSync();
  return table;
}

const withoutSizes = (text: string) => text.replaceAll(/\t\tsize \d+\n/g, '');

describe.each(families)('a full sync, %s', (family) => {
  test('makes the table that the fake says it makes', async () => {
    const table = await freshly(sampleCluster(family));
    expect(table.describe()).toBe((await fullySynced(table.cluster)).describe());
  });

  test('written as text and loaded by nft makes the same table', async () => {
    const cluster = sampleCluster(family);
    const table = new TestTable(cluster, kernel);
    await table.fullSync();
    const { transaction } = buildFullSync(cluster.plan(), family, namedSets(family), undefined);
    nftLoad(other, transaction.toString());
    expect(nftList(namespace, family)).toBe(nftList(other, family));
    expect(describeTable(otherKernel.listTable(family, TABLE))).toBe(table.describe());
    // Negative control: a text that says something else is told apart.
    nftLoad(other, `add rule ${family} ${TABLE} services drop`);
    expect(nftList(namespace, family)).not.toBe(nftList(other, family));
  });

  test('the golden is a table that nft loads and the kernel lists just so', () => {
    const golden = readFileSync(join(import.meta.dirname, `testdata/table-${family}.nft`), 'utf8');
    nftLoad(other, golden);
    expect(describeTable(otherKernel.listTable(family, TABLE))).toBe(golden);
  });

  test('takes over the table of kube-proxy and the clients it remembers', async () => {
    const { clusterIP, endpoint, client } = upstreamAddresses(family);
    const cluster = new TestCluster({
      family: family === 'ip' ? 'IPv4' : 'IPv6',
      localTraffic: { kind: 'none' },
      serviceCIDRs: [],
    })
      .service('ns1/svc1', {
        type: 'NodePort',
        clusterIP,
        ports: [{ name: 'p80', nodePort: 3001 }],
        sessionAffinity: 'ClientIP',
      })
      .slice('ns1/svc1', { p80: '80' }, [endpoint(1), endpoint(2)]);
    kernel.commit(upstreamTable(family));
    const table = new TestTable(cluster, kernel);
    await table.fullSync();
    const remembered = `\t\telements = {\n\t\t\t${client},\n\t\t}\n`;
    expect(table.describe()).toContain(remembered);
    expect(table.describe().replace(remembered, '')).toBe((await freshly(cluster)).describe());
  });
});

test('settings that change nothing but the rules, and empty sets, are taken by the kernel', async () => {
  const table = new TestTable(sampleCluster('ip'), kernel);
  for (const fields of [
    { nodePortAddresses: [] },
    { localTraffic: { kind: 'cidr', cidr: '0.0.0.0/0' } },
    { localTraffic: { kind: 'bridgeInterface', name: 'a-bridge-of-15b' } },
    { masqueradeMark: 0x8000_0000, nodePortAddresses: 'all' },
    { serviceCIDRs: [], masqueradeAll: true },
  ] as const) {
    table.cluster.change(fields);
    await table.fullSync();
    expect(table.describe()).toBe((await fullySynced(table.cluster)).describe());
  }
});

describe('affinity', () => {
  const sticky = (timeout: number): ServiceFields => ({
    clusterIP: '172.30.0.41',
    ports: [{ name: 'p80' }],
    sessionAffinity: 'ClientIP',
    affinityTimeoutSeconds: timeout,
  });
  const [first, second] = upstreamEndpointBases.ip;
  const clients = (base: string) => {
    const listed = kernel.listTable('ip', TABLE)?.sets.get(`affinity-${base}`);
    return { timeoutMs: listed?.set.timeoutMs, expirationsMs: listed?.rows?.expirationsMs ?? [] };
  };
  const start = async () => {
    const cluster = new TestCluster()
      .service('ns1/svc1', sticky(10_800))
      .slice('ns1/svc1', { p80: '80' }, ['10.180.0.1', '10.180.0.2']);
    const table = new TestTable(cluster, kernel);
    await table.fullSync();
    const { set } = table.listing().sets.get(`affinity-${first}`)!;
    // As if the client had come an hour ago.
    const rows = PackedElements.for(set).begin().address('203.0.113.2').timeout(10_800_000, 7_200_000);
    kernel.commit(new Transaction('ip', TABLE).add({ kind: 'elements', of: set, rows }));
    return table;
  };
  const expectRemembered = () => {
    const { expirationsMs } = clients(first);
    expect(expirationsMs).toHaveLength(1);
    expect(expirationsMs[0]).toBeGreaterThan(7_100_000);
    expect(expirationsMs[0]).toBeLessThanOrEqual(7_200_000);
  };

  test('clients stay, with the time they have left, over full syncs and a restart', async () => {
    const table = await start();
    expectRemembered();
    await table.fullSync();
    expectRemembered();
    await new TestTable(table.cluster, kernel).fullSync();
    expectRemembered();
  });

  test('clients stay while other endpoints come and go, and leave with their own', async () => {
    const table = await start();
    const endpoints = (...ips: string[]) => {
      table.cluster.slice('ns1/svc1', { p80: '80' }, ips);
      return table.partialSync();
    };
    await endpoints('10.180.0.1');
    await endpoints('10.180.0.1', '10.180.0.2', '10.180.0.3');
    expectRemembered();
    await endpoints('10.180.0.2', '10.180.0.3');
    expect(clients(first).timeoutMs).toBeUndefined();
    await endpoints('10.180.0.1', '10.180.0.2');
    expect(clients(first)).toEqual({ timeoutMs: 10_800_000, expirationsMs: [] });
  });

  test.each(['partialSync', 'fullSync'] as const)(
    'another timeout by a %s: sets have it, clients stay',
    async (sync) => {
      const table = await start();
      table.cluster.service('ns1/svc1', sticky(60));
      await table[sync]();
      expectRemembered();
      for (const base of [first, second]) expect(clients(base).timeoutMs).toBe(60_000);
    },
  );
});

test('another affinity timeout holds for connections from then on, also where a set keeps the one it was declared with', async () => {
  namespace.run('ip', 'route', 'replace', '172.30.0.0/24', 'dev', 'lo');
  const sticky = (timeout: number): ServiceFields => ({
    clusterIP: '172.30.0.41',
    ports: [{ name: 'p80' }],
    sessionAffinity: 'ClientIP',
    affinityTimeoutSeconds: timeout,
  });
  const table = new TestTable(
    new TestCluster().service('ns1/svc1', sticky(10_800)).slice('ns1/svc1', { p80: '80' }, ['10.180.0.1']),
    kernel,
  );
  await table.fullSync();
  const [set] = [...table.listing().sets.values()].flatMap((listed) =>
    listed.set.kind === 'set' && listed.set.name.startsWith('affinity-') ? [listed.set] : [],
  );
  table.cluster.service('ns1/svc1', sticky(60));
  await table.partialSync();
  // As kernels before 6.2 do it.
  kernel.commit(new Transaction('ip', TABLE).add({ ...set!, timeoutMs: 10_800_000 }));
  expect(table.listing().sets.get(set!.name)?.set.timeoutMs).toBe(10_800_000);
  // Nothing listens there; the packet has been treated all the same.
  namespace.run(
    process.execPath,
    '-e',
    "require('net').connect(80, '172.30.0.41').on('error', () => {}); setTimeout(process.exit, 200)",
  );
  const rows = table.listing().sets.get(set!.name)!.rows!;
  expect(rows.count).toBe(1);
  expect(rows.expirationsMs?.[0]).toBeLessThanOrEqual(60_000);
});

test('C95: long names work, and twins that differ in the last letter do not meet', async () => {
  const long = 'n'.repeat(63);
  const cluster = new TestCluster();
  const fields = (n: number): ServiceFields => ({
    type: 'LoadBalancer',
    clusterIP: `172.30.0.${n}`,
    ports: [{ name: 'p'.repeat(15), nodePort: 30_000 + n }],
    loadBalancerIngress: [{ ip: `198.51.100.${n}`, ipMode: '' }],
    loadBalancerSourceRanges: ['203.0.113.0/24'],
    sessionAffinity: n < 3 ? 'ClientIP' : '',
  });
  const endpoints = Array.from({ length: 12 }, (_, n) => `10.180.0.${n + 1}`);
  for (const [index, last] of ['a', 'b', 'c'].entries()) {
    cluster
      .service(`${long}/${'s'.repeat(62)}${last}`, fields(index + 1))
      .slice(`${long}/${'s'.repeat(62)}${last}`, { ['p'.repeat(15)]: '8080' }, endpoints);
  }
  cluster
    .service('ns/plain', { clusterIP: '172.30.0.9', ports: [{ name: 'p' }] })
    .slice('ns/plain', { p: '80' }, endpoints);
  const table = new TestTable(cluster, kernel);
  await table.fullSync();
  const names = [...table.listing().chains.keys()];
  expect(names.filter((name) => name.startsWith('firewall-'))).toHaveLength(4);
  expect(names.filter((name) => name.startsWith('endpoint-'))).toHaveLength(24);
  expect(table.listing().sets.get('service-ips')?.rows?.count).toBe(7);
  const comments = table.listing().sets.get('service-ips')!.rows!.comments!;
  for (const comment of comments) expect(Buffer.byteLength(comment!)).toBeLessThanOrEqual(127);
});

describe('any sequence of changes by partial syncs', () => {
  test('makes the table of one full sync', async () => {
    const round = fc.record({
      changes: fc.array(randomChange, { maxLength: 4 }),
      waitMs: fc.constantFrom(0, 400, 1000, 5000),
    });
    await fc.assert(
      fc.asyncProperty(randomSettings, fc.array(round, { maxLength: 10 }), async (settings, sequence) => {
        removeTables();
        const table = new TestTable(new TestCluster(settings), kernel);
        await table.fullSync();
        for (const { changes, waitMs } of sequence) {
          for (const change of changes) applyChange(table.cluster, change);
          await table.partialSync();
          await table.clock.advance(waitMs);
        }
        await table.collectStaleChains();
        const fresh = await freshly(table.cluster);
        expect(withoutSizes(table.describe())).toBe(withoutSizes(fresh.describe()));
      }),
      { numRuns: 30 },
    );
  });

  test('C91: Services that come, change and go as fast as can be, without one refused transaction', async () => {
    const table = new TestTable(new TestCluster(), kernel);
    await table.fullSync();
    const key = (n: number) => `ns/svc${n}`;
    const fields = (n: number): ServiceFields => ({
      type: 'NodePort',
      clusterIP: `10.96.0.${n + 1}`,
      ports: [{ name: 'p80', nodePort: 30_000 + n }],
      sessionAffinity: n % 4 === 0 ? 'ClientIP' : '',
      externalTrafficPolicy: n % 3 === 0 ? 'Local' : 'Cluster',
    });
    const pods = (round: number, count: number) =>
      Array.from({ length: count }, (_, i) => `10.${round % 250}.0.${i + 1}${i % 2 === 0 ? '*' : ''}`);
    for (let round = 0; round < 100; round++) {
      // Half a step apart, so that every sync has Services that come, change and go.
      for (const half of [0, 1]) {
        for (let n = 0; n < 20; n++) {
          const step = (round * 2 + half + n) % 4;
          if (step === 0)
            table.cluster.service(key(n), fields(n)).slice(key(n), { p80: '8080' }, pods(round, 5));
          else if (step === 1) table.cluster.slice(key(n), { p80: '8080' }, pods(round + 1, (round % 7) + 1));
          else if (step === 2) table.cluster.deleteService(key(n)).deleteSlice(key(n));
        }
        await table.partialSync();
        await table.clock.advance(10 + 7 * (round % 50));
      }
    }
    await table.collectStaleChains();
    const fresh = await freshly(table.cluster);
    expect(table.describe()).toBe(fresh.describe());
  });
});

test('a full sync repairs whatever others made of the table', async () => {
  await fc.assert(
    fc.asyncProperty(
      randomSettings,
      fc.array(randomChange, { maxLength: 6 }),
      fc.array(fc.constantFrom(...Object.keys(damages)), { minLength: 1, maxLength: 4 }),
      async (settings, changes, chosen) => {
        removeTables();
        const table = new TestTable(new TestCluster(settings), kernel);
        for (const change of changes) applyChange(table.cluster, change);
        await table.fullSync();
        for (const name of chosen) {
          const transaction = new Transaction(nftFamily(table.cluster.settings.family), TABLE);
          damages[name]!(transaction, table.cluster);
          // Some damage cannot be done to a table that has been damaged already.
          try {
            kernel.commit(transaction);
          } catch {}
        }
        await table.fullSync();
        const fresh = await freshly(table.cluster);
        expect(table.describe()).toBe(fresh.describe());
      },
    ),
    { numRuns: 60 },
  );
});

test('no new connection fails while tables are rewritten, taken over, repaired and changed', async () => {
  namespace.run('ip', 'address', 'add', '10.0.0.1/32', 'dev', 'lo');
  namespace.run('ip', 'address', 'add', '10.0.0.2/32', 'dev', 'lo');
  namespace.run('ip', 'route', 'replace', '172.30.0.0/24', 'dev', 'lo');
  const fields = (affinity: string): ServiceFields => ({
    clusterIP: '172.30.0.41',
    ports: [{ name: 'p80' }],
    sessionAffinity: affinity,
  });
  const cluster = new TestCluster()
    .service('ns1/svc1', fields(''))
    .slice('ns1/svc1', { p80: '8080' }, ['10.0.0.1*']);
  let table = new TestTable(cluster, kernel);
  await table.fullSync();

  const program = join(import.meta.dirname, 'testing/connect-loop.ts');
  const loop = namespace.spawn(process.execPath, program, '172.30.0.41:80', '10.0.0.1:8080', '10.0.0.2:8080');
  const lines = createInterface(loop.stdout!)[Symbol.asyncIterator]();
  expect(await lines.next()).toEqual({ done: false, value: 'ready' });

  const moveBaseChain = () => {
    const name = CHAINS.natOutput;
    const moved = { kind: 'chain', name, base: { type: 'nat', hook: 'output', priority: -90 } } as const;
    const transaction = new Transaction('ip', TABLE).flush(moved).delete(moved).add(moved);
    kernel.commit(transaction.add({ kind: 'rule', chain: name, statements: [jump(CHAINS.services)] }));
  };
  for (let round = 0; round < 60; round++) {
    if (round % 5 === 1) cluster.change({ masqueradeAll: round % 2 === 0 });
    if (round % 5 === 2) table = new TestTable(cluster, kernel);
    if (round % 5 === 3) moveBaseChain();
    await table.fullSync();
    cluster
      .service('ns1/svc1', fields(round % 6 < 3 ? '' : 'ClientIP'))
      .slice(
        'ns1/svc1',
        { p80: '8080' },
        [['10.0.0.1*'], ['10.0.0.1*', '10.0.0.2*'], ['10.0.0.2*']][round % 3]!,
      );
    await table.partialSync();
    await table.collectStaleChains();
    await setTimeout(10);
  }
  loop.stdin!.end();
  const { value } = await lines.next();
  const { connected, failures } = JSON.parse(value ?? '') as { connected: number; failures: string[] };
  expect(failures).toEqual([]);
  expect(connected).toBeGreaterThan(60);
});

test('cleanup leaves nothing, twice', async () => {
  const table = new TestTable(sampleCluster('ip6'), kernel);
  await table.fullSync();
  cleanupNftables(kernel, 'ip6');
  expect(kernel.listTable('ip6', TABLE)).toBeUndefined();
  cleanupNftables(kernel, 'ip6');
});
