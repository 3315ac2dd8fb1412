import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Namespace } from '../../../test/netns/namespace.ts';
import { systemClock } from '../../base/clock.ts';
import type { IpFamily } from '../../base/ip.ts';
import { silentLogger } from '../../base/logger.ts';
import { type Iptables, openIptables } from '../../kernel/iptables/iptables.ts';
import type { IptablesBackend } from '../../kernel/iptables/iptables-version.ts';
import { processRunner, type RunProgram } from '../../kernel/iptables/run-program.ts';
import { NfacctConnection } from '../../kernel/nfacct/nfacct-connection.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { chooseIptables } from './choose-iptables.ts';
import { cleanupIptables } from './cleanup.ts';
import {
  type IptablesOptions,
  IptablesProxier,
  type IptablesProxierDependencies,
} from './iptables-proxier.ts';
import { applyChange, randomChange } from './testing/random-changes.ts';

const golden = (name: string) => readFileSync(new URL(`testdata/${name}`, import.meta.url), 'utf8');
const program = (name: string) => fileURLToPath(new URL(`testing/${name}`, import.meta.url));

const inNamespace = (namespace: Namespace) => processRunner(['ip', 'netns', 'exec', namespace.name]);

function open(
  namespace: Namespace,
  backend: IptablesBackend,
  family: IpFamily = 'IPv4',
  run: RunProgram = inNamespace(namespace),
): Promise<Iptables> {
  return openIptables({ family, backend, run });
}

function proxierOver(
  iptables: Iptables,
  options: Partial<IptablesOptions> = {},
  dependencies: Partial<IptablesProxierDependencies> = {},
): IptablesProxier {
  return new IptablesProxier(
    { conntrackTcpBeLiberal: () => false, monitorIntervalMs: 3_600_000, ...options },
    { iptables, clock: systemClock, logger: silentLogger, ...dependencies },
  );
}

/** Makes counters in a namespace, as the kernel needs them for rules that count. */
function countersIn(namespace: Namespace): Pick<IptablesProxierDependencies, 'ensureCounters'> {
  return {
    async ensureCounters(names) {
      const connection = namespace.inside(() => NfacctConnection.open());
      for (const name of names) connection.ensureCounter(name);
      connection.close();
      return new Set(names);
    },
  };
}

/** Tables as saved; counters, comments and canaries left out, rules of shared chains sorted but for the dispatch. */
function saved(namespace: Namespace, backend: IptablesBackend, family: IpFamily = 'IPv4'): string {
  const stem = family === 'IPv4' ? 'iptables' : 'ip6tables';
  let text = '';
  for (const table of ['filter', 'nat']) {
    const lines = namespace
      .run(`${stem}-${backend}-save`, '-t', table)
      .split('\n')
      .filter((line) => !line.startsWith('#') && !line.includes('KUBE-PROXY-CANARY'))
      .map((line) => line.replace(/\[\d+:\d+\]/, '').trimEnd());
    const chains = lines.filter((line) => line.startsWith(':')).sort();
    const rules = lines.filter((line) => line.startsWith('-A'));
    const of = (chain: string) => rules.filter((rule) => rule.split(' ')[1] === chain);
    text += `*${table}\n`;
    for (const chain of chains) {
      const name = chain.slice(1).split(' ')[0]!;
      const own = of(name);
      const shared = /^KUBE-(SERVICES|NODEPORTS|EXTERNAL-SERVICES|PROXY-FIREWALL)$/.test(name);
      const last = own.findIndex((rule) => rule.includes('must be the last rule'));
      if (last >= 0) expect(last).toBe(own.length - 1);
      text += `${chain}\n${(shared ? own.sort() : own).join('\n')}\n`;
    }
  }
  return text;
}

/** All of the input but for the last word, and then an error: the program is killed with half a table in hand. */
function* withoutEnd(input: Iterable<string>): Generator<string> {
  const text = [...input].join('');
  yield text.slice(0, text.lastIndexOf('COMMIT'));
  throw new Error('the writer died');
}

function smallCluster(fields: ConstructorParameters<typeof TestCluster>[0] = {}): TestCluster {
  const cluster = new TestCluster({ localhostNodePorts: true, ...fields });
  for (let service = 0; service < 5; service++) {
    applyChange(cluster, {
      service,
      what: { kind: 'service', shape: service, affinity: service % 2 === 1, local: service % 4 },
    });
    applyChange(cluster, { service, what: { kind: 'slice', endpoints: [1, 2], here: 1 } });
  }
  return cluster;
}

describe.each(['nft', 'legacy'] as const)('back-end %s', (backend) => {
  test('partial syncs end where a full sync ends, on tables of any earlier time and on empty ones', async () => {
    using one = Namespace.create('flh-one');
    using two = Namespace.create('flh-two');
    const changing = await open(one, backend);
    const takeover = await open(two, backend);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(randomChange, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 5 }),
        async (syncs) => {
          const cluster = new TestCluster({ localhostNodePorts: true });
          const proxier = proxierOver(changing, {}, countersIn(one));
          await proxier.sync(cluster.plan(), undefined);
          for (const changes of syncs) {
            for (const change of changes) applyChange(cluster, change);
            const { plan, diff } = cluster.update();
            const report = await proxier.sync(plan, diff);
            expect(report.kind).toBe('partial');
            expect(report.setAside.size).toBe(0);
          }
          proxier.close();
          const other = proxierOver(takeover, {}, countersIn(two));
          await other.sync(cluster.plan(), undefined);
          other.close();
          expect(saved(one, backend)).toBe(saved(two, backend));
          expect(saved(one, backend)).toMatch(/--nfacct-name +ct_state_invalid_dropped_pkts/);
        },
      ),
      { numRuns: 10 },
    );
    using three = Namespace.create('flh-three');
    const cluster = smallCluster();
    for (const iptables of [takeover, await open(three, backend)]) {
      const proxier = proxierOver(iptables);
      await proxier.sync(cluster.plan(), undefined);
      proxier.close();
    }
    expect(saved(two, backend)).toBe(saved(three, backend));
  });

  test('one window with everything in it, and a write that dies in the middle, end where a new process begins (C98)', async () => {
    using namespace = Namespace.create('flh-window');
    const run = inNamespace(namespace);
    let dies = false;
    const mortal: RunProgram = (name, args, { input, ...options }) =>
      input === undefined || !dies
        ? run(name, args, { ...options, ...(input && { input }) })
        : run(name, args, { ...options, input: withoutEnd(input) });
    const cluster = new TestCluster();
    const create = (n: number, endpoints = ['10.1.0.1', '10.1.0.2*']) => {
      cluster.service(`ns/svc${n}`, {
        type: 'NodePort',
        clusterIP: `10.96.1.${n}`,
        ports: [{ nodePort: 30_000 + n }],
      });
      cluster.slice(`ns/svc${n}`, { '': '80' }, endpoints);
    };
    for (let n = 0; n < 50; n++) create(n, n === 1 ? [] : undefined);
    const iptables = await open(namespace, backend, 'IPv4', mortal);
    const proxier = proxierOver(iptables);
    const sync = () => {
      const { plan, diff } = cluster.update();
      return proxier.sync(plan, diff);
    };
    const fresh = async () => {
      using other = Namespace.create('flh-anew');
      const anew = proxierOver(await open(other, backend));
      await anew.sync(cluster.plan(), undefined);
      anew.close();
      return saved(other, backend);
    };
    await sync();

    cluster.slice('ns/svc0', { '': '80' }, []);
    cluster.slice('ns/svc1', { '': '80' }, ['10.1.0.1']);
    cluster.service('ns/svc2', {
      type: 'NodePort',
      clusterIP: '10.96.1.2',
      externalTrafficPolicy: 'Local',
      ports: [{ nodePort: 30_002 }],
    });
    cluster.deleteService('ns/svc3').deleteSlice('ns/svc3');
    create(3, ['10.1.0.3']);
    expect((await sync()).kind).toBe('partial');
    expect(saved(namespace, backend)).toBe(await fresh());

    dies = true;
    cluster.deleteService('ns/svc4').deleteSlice('ns/svc4');
    create(60);
    await expect(sync()).rejects.toThrow('the writer died');
    dies = false;
    cluster.slice('ns/svc5', { '': '80' }, ['10.1.0.5']);
    expect((await sync()).kind).toBe('full');
    expect(saved(namespace, backend)).toBe(await fresh());
    cluster.slice('ns/svc60', { '': '80' }, ['10.1.0.6']);
    expect((await sync()).kind).toBe('partial');
    expect(saved(namespace, backend)).toBe(await fresh());
    proxier.close();
  });

  test('goldens are accepted, and a broken one is refused with its line', async () => {
    using namespace = Namespace.create('flh-golden');
    const iptables = await open(namespace, backend);
    const text = golden('worked-example.txt');
    await iptables.restore([text]);
    expect(saved(namespace, backend)).toContain('--to-destination 10.244.1.5:8080');
    const ip6tables = await open(namespace, backend, 'IPv6');
    const rules = golden('ipv6-nat-rules.txt');
    const chains = new Set([
      'KUBE-MARK-MASQ',
      ...[...rules.matchAll(/-A (\S+)|-j (KUBE-\S+)/g)].map((m) => m[1] ?? m[2]!),
    ]);
    const declared = [...chains].map((chain) => `:${chain} - [0:0]\n`).join('');
    await ip6tables.restore([`*nat\n${declared}${rules}COMMIT\n`]);
    const lines = text.split('\n');
    const at = lines.findIndex((line) => line.includes('--dport 80'));
    lines[at] = lines[at]!.replace('--dport 80', '--dport 80000');
    await expect(iptables.restore([lines.join('\n')])).rejects.toMatchObject({
      detail: { code: 'IPTABLES_REFUSED', lines: [at + 1] },
    });
  });

  test.each(['IPv4', 'IPv6'] as const)('clean-up of %s leaves what is not ours', async (family) => {
    using namespace = Namespace.create('flh-clean');
    const stem = `${family === 'IPv4' ? 'iptables' : 'ip6tables'}-${backend}`;
    const foreign = [
      ['-t', 'nat', '-N', 'KUBE-SVC-CUSTOM'],
      ['-t', 'nat', '-A', 'POSTROUTING', '-p', 'tcp', '--dport', '99', '-j', 'KUBE-SVC-CUSTOM'],
      ['-t', 'filter', '-N', 'DOCKER'],
      ['-t', 'filter', '-A', 'FORWARD', '-j', 'DOCKER'],
      ['-t', 'filter', '-A', 'INPUT', '-p', 'udp', '--dport', '53', '-j', 'ACCEPT'],
      ['-t', 'mangle', '-N', 'KUBE-KUBELET-CANARY'],
      ['-t', 'filter', '-N', 'KUBE-FIREWALL'],
      ['-t', 'filter', '-I', 'INPUT', '-j', 'KUBE-FIREWALL'],
      ['-t', 'filter', '-I', 'OUTPUT', '-j', 'KUBE-FIREWALL'],
    ];
    for (const args of foreign) namespace.run(stem, ...args);
    namespace.run('nft', 'add', 'table', 'inet', 'theirs');
    const before = saved(namespace, backend, family);
    const iptables = await open(namespace, backend, family);
    const proxier = proxierOver(iptables);
    const cluster =
      family === 'IPv4'
        ? smallCluster({ localhostNodePorts: false })
        : new TestCluster({
            family,
            nodeIP: '2001:db8::1',
            localTraffic: { kind: 'cidr', cidr: 'fd00:10::/64' },
          })
            .service('ns/svc', { type: 'NodePort', clusterIP: 'fd00:96::1', ports: [{ nodePort: 30_000 }] })
            .slice('ns/svc', { '': '80' }, ['fd00:10::1']);
    await proxier.sync(cluster.plan(), undefined);
    expect(saved(namespace, backend, family)).not.toBe(before);
    proxier.close();
    expect(await cleanupIptables(iptables, silentLogger)).toEqual([]);
    expect(saved(namespace, backend, family)).toBe(before);
    expect(namespace.run(`${stem}-save`, '-t', 'mangle')).not.toContain('KUBE-PROXY-CANARY');
    expect(namespace.run('nft', 'list', 'tables')).toContain('inet theirs');
    expect(await cleanupIptables(iptables, silentLogger)).toEqual([]);
    expect(saved(namespace, backend, family)).toBe(before);
  });

  test('clean-up of an untouched namespace creates no tables', async () => {
    using namespace = Namespace.create('flh-virgin');
    await cleanupIptables(await open(namespace, backend), silentLogger);
    expect(namespace.run('nft', 'list', 'ruleset')).toBe('');
    expect(namespace.run('cat', '/proc/net/ip_tables_names')).toBe('');
  });

  test('one bad object is set aside, with the change that brings it and in a full sync', async () => {
    using namespace = Namespace.create('flh-bad');
    const iptables = await open(namespace, backend);
    const cluster = smallCluster();
    const proxier = proxierOver(iptables);
    await proxier.sync(cluster.plan(), undefined);
    // More seconds than the option takes; the API server would not let it pass.
    cluster.service('ns/bad', {
      clusterIP: '10.96.9.9',
      sessionAffinity: 'ClientIP',
      affinityTimeoutSeconds: 2 ** 40,
      ports: [{ name: 'a' }],
    });
    cluster.slice('ns/bad', { a: '80' }, ['10.9.9.9']);
    const { plan, diff } = cluster.update();
    const partial = await proxier.sync(plan, diff);
    expect([...partial.setAside.keys()]).toEqual(['ns/bad:a/TCP']);
    const full = await proxier.sync(cluster.plan(), undefined);
    expect([...full.setAside.keys()]).toEqual(['ns/bad:a/TCP']);
    proxier.close();
    using fresh = Namespace.create('flh-good');
    const other = proxierOver(await open(fresh, backend));
    await other.sync(smallCluster().plan(), undefined);
    other.close();
    expect(saved(namespace, backend)).toBe(saved(fresh, backend));
  });

  test('a refusal that names no line of an object is narrowed down', async () => {
    using namespace = Namespace.create('flh-vague');
    const run = inNamespace(namespace);
    // The kernel of the legacy back-end says no more than that the table was not taken.
    const vague: RunProgram = async (name, args, options) => {
      const result = await run(name, args, options);
      return result.exitStatus === 0 || !args.includes('--noflush')
        ? result
        : { exitStatus: 1, stdout: '', stderr: 'iptables-restore: line 1 failed\n' };
    };
    const cluster = smallCluster();
    cluster.service('ns/bad', { sessionAffinity: 'ClientIP', affinityTimeoutSeconds: 2 ** 40 });
    cluster.slice('ns/bad', { '': '80' }, ['10.9.9.9']);
    const proxier = proxierOver(await open(namespace, backend, 'IPv4', vague));
    const report = await proxier.sync(cluster.plan(), undefined);
    proxier.close();
    expect([...report.setAside.keys()]).toEqual(['ns/bad/TCP']);
    expect(saved(namespace, backend)).not.toContain('10.9.9.9');
  });

  test('flushed tables are noticed and filled again', async () => {
    using namespace = Namespace.create('flh-flush');
    const changes: string[] = [];
    const proxier = proxierOver(await open(namespace, backend), {
      monitorIntervalMs: 50,
      onForeignChange: (what) => changes.push(what),
    });
    const cluster = smallCluster();
    await proxier.sync(cluster.plan(), undefined);
    const before = saved(namespace, backend);
    await vi.waitFor(
      () => expect(namespace.run(`iptables-${backend}-save`)).toMatch(/\*filter[^*]*:KUBE-PROXY-CANARY/),
      { timeout: 20_000 },
    );
    for (const table of ['mangle', 'nat', 'filter']) {
      namespace.run(`iptables-${backend}`, '-w', '-t', table, '-F');
      namespace.run(`iptables-${backend}`, '-w', '-t', table, '-X');
    }
    await vi.waitFor(() => expect(changes).toEqual(['tables were flushed']), { timeout: 20_000 });
    const { plan, diff } = cluster.update();
    const report = await proxier.sync(plan, diff);
    expect(report.kind).toBe('full');
    expect(saved(namespace, backend)).toBe(before);
    proxier.close();
  });
});

test('rules that this iptables cannot read, as a newer one or nft writes them, are neither in the way nor touched (C100)', async () => {
  using namespace = Namespace.create('flh-newer');
  for (const table of ['nat', 'mangle', 'filter']) {
    const chain = table === 'filter' ? 'INPUT' : 'POSTROUTING';
    namespace.run('iptables-nft', '-t', table, '-A', chain, '-p', 'udp', '--dport', '9', '-j', 'ACCEPT');
    namespace.run('nft', 'insert', 'rule', 'ip', table, chain, 'tcp', 'dport', '{ 7, 9 }', 'accept');
    namespace.run('nft', 'add', 'chain', 'ip', table, 'theirs', '{ type filter hook forward priority 77; }');
  }
  const theirs = () => {
    const lines = namespace.run('nft', '-s', 'list', 'ruleset').split('\n');
    return lines
      .filter((line) => /dport|theirs|hook forward priority 77/.test(line) && !line.includes('KUBE'))
      .join('\n');
  };
  const before = theirs();
  expect(before.match(/dport/g)).toHaveLength(6);
  const changes: string[] = [];
  const iptables = await open(namespace, 'nft');
  expect(await iptables.isUsable()).toBe(true);
  const proxier = proxierOver(iptables, {
    monitorIntervalMs: 20,
    onForeignChange: (what) => changes.push(what),
  });
  const cluster = new TestCluster().service('ns/web', { clusterIP: '10.96.0.1' });
  cluster.slice('ns/web', { '': '80' }, ['10.0.0.1']);
  const report = await proxier.sync(cluster.plan(), undefined);
  expect(report.setAside.size).toBe(0);
  const { plan, diff } = cluster.slice('ns/web', { '': '80' }, ['10.0.0.2']).update();
  expect((await proxier.sync(plan, diff)).kind).toBe('partial');
  await proxier.sync(plan, undefined);
  expect(saved(namespace, 'nft')).toContain('--to-destination 10.0.0.2:80');
  expect(saved(namespace, 'nft')).not.toContain('10.0.0.1:80');
  await vi.waitFor(
    () => expect(namespace.run('nft', 'list', 'ruleset').match(/chain KUBE-PROXY-CANARY/g)).toHaveLength(3),
    { timeout: 20_000 },
  );
  expect(changes).toEqual([]);
  proxier.close();
  // A canary on its way may come after the first time.
  await vi.waitFor(
    async () => {
      expect(await cleanupIptables(iptables, silentLogger)).toEqual([]);
      expect(namespace.run('nft', 'list', 'ruleset')).not.toMatch(/KUBE-(?!FIREWALL)/);
    },
    { timeout: 20_000 },
  );
  expect(theirs()).toBe(before);
});

describe('the xtables lock, held by somebody else', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'fairlead-lock-'));
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  async function holdLock(seconds: number): Promise<() => void> {
    const file = join(directory, 'xtables.lock');
    const holder = spawn('flock', ['--close', file, 'sh', '-c', `echo held; exec sleep ${seconds}`]);
    await once(holder.stdout, 'data');
    return () => holder.kill('SIGKILL');
  }

  test('for a while: the sync waits; for long: it fails, names the lock, and can be tried again', async () => {
    using namespace = Namespace.create('flh-lock');
    const run = processRunner(['ip', 'netns', 'exec', namespace.name], {
      XTABLES_LOCKFILE: join(directory, 'xtables.lock'),
    });
    const iptables = await open(namespace, 'legacy', 'IPv4', run);
    const proxier = proxierOver(iptables);
    const cluster = smallCluster();
    const started = performance.now();
    await holdLock(2);
    await proxier.sync(cluster.plan(), undefined);
    expect(performance.now() - started).toBeGreaterThan(1900);

    const release = await holdLock(60);
    applyChange(cluster, { service: 0, what: { kind: 'slice', endpoints: [5], here: 0 } });
    const { plan, diff } = cluster.update();
    await expect(proxier.sync(plan, diff)).rejects.toMatchObject({ detail: { code: 'IPTABLES_LOCK_HELD' } });
    release();
    execFileSync('flock', [join(directory, 'xtables.lock'), 'true']);
    const report = await proxier.sync(plan, undefined);
    proxier.close();
    expect(report.setAside.size).toBe(0);
    expect(saved(namespace, 'legacy')).toContain('--to-destination 10.0.0.5:8080');
  });
});

describe('how others fare at the xtables lock', () => {
  let directory: string;
  let lockFile: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'fairlead-turns-'));
    lockFile = join(directory, 'xtables.lock');
    writeFileSync(lockFile, '');
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  const isFree = () => spawnSync('flock', ['--nonblock', lockFile, 'true']).status === 0;
  const withLock = (namespace: Namespace) =>
    processRunner(['ip', 'netns', 'exec', namespace.name], { XTABLES_LOCKFILE: lockFile });

  const thousand = () => {
    const cluster = new TestCluster();
    for (let n = 0; n < 1000; n++) {
      const low = `${n >> 8}.${n & 255}`;
      cluster.service(`ns/svc${n}`, { clusterIP: `10.96.${low}` });
      cluster.slice(`ns/svc${n}`, { '': '80' }, [`10.1.${low}`, `10.2.${low}`, `10.3.${low}`]);
    }
    return cluster;
  };

  test('between two programs of ours nobody holds it, whatever there is to think about', async () => {
    using namespace = Namespace.create('flh-free');
    const run = withLock(namespace);
    const held: string[] = [];
    let runs = 0;
    const watched: RunProgram = async (name, args, options) => {
      runs++;
      if (!isFree()) held.push(`before ${name} ${args.join(' ')}`);
      const result = await run(name, args, options);
      if (!isFree()) held.push(`after ${name} ${args.join(' ')}`);
      return result;
    };
    const proxier = proxierOver(await open(namespace, 'legacy', 'IPv4', watched));
    const cluster = thousand();
    await proxier.sync(cluster.plan(), undefined);
    for (let change = 0; change < 3; change++) {
      cluster.slice(`ns/svc${change}`, { '': '80' }, ['10.9.9.9']);
      const { plan, diff } = cluster.update();
      expect((await proxier.sync(plan, diff)).kind).toBe('partial');
    }
    proxier.close();
    expect(runs).toBeGreaterThan(5);
    expect(held).toEqual([]);
  });

  test('a tool that waits for it gets it after a restore or two, while thousands of rules are written without end', async () => {
    using namespace = Namespace.create('flh-turns');
    const run = withLock(namespace);
    let started = 0;
    let ended = 0;
    const counted: RunProgram = async (name, args, options) => {
      const isRestore = args.includes('--noflush');
      if (isRestore) started++;
      const result = await run(name, args, options);
      if (isRestore) ended++;
      return result;
    };
    const proxier = proxierOver(await open(namespace, 'legacy', 'IPv4', counted));
    const cluster = thousand();
    await proxier.sync(cluster.plan(), undefined);
    const before = ended;
    let writing = true;
    const waits: number[] = [];
    const tool = async () => {
      while (writing) {
        const startedBefore = started;
        const args = ['-w', '100', '-t', 'nat', '-S', 'POSTROUTING'];
        const { exitStatus, stderr } = await run('iptables-legacy', args, { timeout: 110_000 });
        expect(exitStatus, stderr).toBe(0);
        // Of ours that began since then, so many are over.
        waits.push(ended - startedBefore);
      }
    };
    const done = tool();
    // Each looks at the jumps, which takes the lock as well, and writes all.
    for (let sync = 0; sync < 8; sync++) await proxier.sync(cluster.plan(), undefined);
    writing = false;
    await done;
    proxier.close();
    expect(ended - before).toBe(16);
    expect(waits.length).toBeGreaterThan(3);
    expect(Math.max(...waits)).toBeLessThan(8);
  });

  test('held by somebody for 4 s of every 5 s, no change is skipped (C99)', async () => {
    using namespace = Namespace.create('flh-hog');
    const proxier = proxierOver(await open(namespace, 'legacy', 'IPv4', withLock(namespace)));
    const cluster = smallCluster();
    await proxier.sync(cluster.plan(), undefined);
    const hog = spawn('sh', [
      '-c',
      'while :; do flock --close "$0" sh -c "echo; sleep 4"; sleep 1; done',
      lockFile,
    ]);
    await once(hog.stdout, 'data');
    try {
      for (let change = 1; change <= 3; change++) {
        await vi.waitFor(() => expect(isFree()).toBe(false), { timeout: 20_000 });
        applyChange(cluster, { service: 0, what: { kind: 'slice', endpoints: [change], here: 0 } });
        const { plan, diff } = cluster.update();
        // The bound is 5 s. Under load a turn may be missed; the sync loop then writes everything.
        await proxier.sync(plan, diff).catch((error) => {
          expect(error).toMatchObject({ detail: { code: 'IPTABLES_LOCK_HELD' } });
          return proxier.sync(plan, undefined);
        });
        expect(saved(namespace, 'legacy')).toContain(`--to-destination 10.0.0.${change}:8080`);
      }
    } finally {
      hog.kill('SIGKILL');
    }
    proxier.close();
  });
});

describe('a restart', () => {
  test.each(['nft', 'legacy'] as const)(
    'over rules of an earlier process (%s) no connection fails',
    async (backend) => {
      using namespace = Namespace.create('flh-gap');
      for (const ip of ['10.0.0.1', '10.0.0.2']) namespace.run('ip', 'address', 'add', ip, 'dev', 'lo');
      namespace.run('ip', 'route', 'add', 'default', 'dev', 'lo');
      for (const ip of ['10.0.0.1', '10.0.0.2']) {
        const server = namespace.spawn(process.execPath, program('greeter.ts'), ip, '8080');
        await once(server.stdout!, 'data');
      }
      const cluster = new TestCluster({ localTraffic: { kind: 'none' } })
        .service('ns/web', { clusterIP: '10.96.0.1' })
        .slice('ns/web', { '': '8080' }, ['10.0.0.1', '10.0.0.2']);
      const iptables = await open(namespace, backend);
      const first = proxierOver(iptables);
      await first.sync(cluster.plan(), undefined);
      first.close();
      const probe = namespace.spawn(process.execPath, program('probe.ts'), '10.96.0.1', '80', '5000');
      let output = '';
      probe.stdout!.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
      const ended = once(probe, 'close');
      const endpoints = [['10.0.0.1'], ['10.0.0.1', '10.0.0.2'], ['10.0.0.2']];
      for (let restart = 0; restart < 12 && output === ''; restart++) {
        const proxier = proxierOver(iptables);
        await proxier.sync(cluster.plan(), undefined);
        cluster.slice('ns/web', { '': '8080' }, endpoints[restart % 3]!);
        applyChange(cluster, {
          service: 1,
          what: { kind: 'service', shape: restart % 3, affinity: false, local: 0 },
        });
        const { plan, diff } = cluster.update();
        expect((await proxier.sync(plan, diff)).kind).toBe('partial');
        proxier.close();
      }
      await ended;
      const { attempts, failures } = JSON.parse(output);
      expect(failures).toEqual({});
      expect(attempts).toBeGreaterThan(100);
    },
  );
});

describe('the choice of a back-end', () => {
  const choose = (namespace: Namespace) =>
    chooseIptables('IPv4', { run: inNamespace(namespace), logger: silentLogger });

  test('kubelet’s hint, our chains, anybody’s rules, in this order; else what iptables stands for', async () => {
    using namespace = Namespace.create('flh-choice');
    const preferred = (await openIptables({ family: 'IPv4', run: inNamespace(namespace) })).backend;
    const other = preferred === 'nft' ? 'legacy' : 'nft';
    expect((await choose(namespace)).iptables.backend).toBe(preferred);
    expect(namespace.run('cat', '/proc/net/ip_tables_names')).toBe('');

    namespace.run(`iptables-${other}`, '-A', 'INPUT', '-j', 'ACCEPT');
    expect((await choose(namespace)).iptables.backend).toBe(other);
    namespace.run(`iptables-${preferred}`, '-A', 'INPUT', '-j', 'ACCEPT');
    expect((await choose(namespace)).iptables.backend).toBe(preferred);

    namespace.run(`iptables-${other}`, '-t', 'nat', '-N', 'KUBE-SERVICES');
    const withOwn = await choose(namespace);
    expect(withOwn.iptables.backend).toBe(other);
    expect(withOwn.withLeftovers).toEqual([]);
    namespace.run(`iptables-${preferred}`, '-t', 'mangle', '-N', 'KUBE-IPTABLES-HINT');
    const withHint = await choose(namespace);
    expect(withHint.iptables.backend).toBe(preferred);
    expect(withHint.withLeftovers.map((iptables) => iptables.backend)).toEqual([other]);
    namespace.run(`iptables-${other}`, '-t', 'mangle', '-N', 'KUBE-KUBELET-CANARY');
    expect((await choose(namespace)).reason).toContain('our rules');
  });

  test('no iptables at all', async () => {
    const missing: RunProgram = (name, args, options) => processRunner()(`/nowhere/${name}`, args, options);
    await expect(chooseIptables('IPv4', { run: missing, logger: silentLogger })).rejects.toMatchObject({
      detail: { code: 'IPTABLES_NOT_STARTED' },
    });
  });
});
