import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../base/logger.ts';
import { iptablesFailure } from '../../kernel/iptables/iptables-error.ts';
import type { Endpoint } from '../../model/endpoint.ts';
import type { ProxyPlan, ServicePortPlan } from '../../plan/proxy-plan.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { cleanupIptables } from './cleanup.ts';
import type { RulesetChange } from './foreign-changes.ts';
import type { SetAside } from './iptables-proxier.ts';
import { FakeIptables } from './testing/fake-iptables.ts';
import { applyChange, randomChange } from './testing/random-changes.ts';
import { allCounters, synced, testProxier } from './testing/synced.ts';
import { baseChainJumps, jumpText } from './top-level-chains.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

function proxierOver(...args: Parameters<typeof testProxier>) {
  const parts = testProxier(...args);
  closers.push(() => parts.proxier.close());
  return parts;
}

/** A dump in which the order of rules in shared chains does not count, except that the dispatch is last. */
function normalized(tables: FakeIptables): string {
  const lines = tables.dump().split('\n');
  const shared = /^-A KUBE-(SERVICES|NODEPORTS|EXTERNAL-SERVICES|PROXY-FIREWALL) /;
  const kept = lines.filter((line) => !line.includes('KUBE-PROXY-CANARY'));
  const start = (line: string) => (shared.test(line) && !line.includes('must be the last') ? line : '');
  const result: string[] = [];
  let group: string[] = [];
  for (const line of kept) {
    if (start(line) !== '') group.push(line);
    else {
      result.push(...group.sort(), line);
      group = [];
    }
  }
  return result.join('\n');
}

function cluster(...names: string[]): TestCluster {
  const made = new TestCluster();
  for (const [index, name] of names.entries()) {
    made
      .service(`ns/${name}`, { clusterIP: `10.96.0.${index + 1}`, ports: [{ name: 'p80' }] })
      .slice(`ns/${name}`, { p80: '80' }, [`10.0.${index + 1}.1`]);
  }
  return made;
}

describe('base chains', () => {
  test('jumps come in kube-proxy’s order and survive later syncs unmoved', async () => {
    const { proxier, iptables } = proxierOver();
    iptables.write('filter', 'FORWARD', ['-j FOREIGN']);
    iptables.write('filter', 'FOREIGN', []);
    await proxier.sync(cluster('a').plan(), undefined);
    const targets = (table: 'filter' | 'nat', chain: string) =>
      iptables.rules(table, chain)!.map((rule) => rule.split(' ').at(-1));
    const expected = {
      INPUT: ['KUBE-FIREWALL', 'KUBE-PROXY-FIREWALL', 'KUBE-NODEPORTS', 'KUBE-EXTERNAL-SERVICES'],
      FORWARD: ['KUBE-PROXY-FIREWALL', 'KUBE-FORWARD', 'KUBE-SERVICES', 'KUBE-EXTERNAL-SERVICES', 'FOREIGN'],
      OUTPUT: ['KUBE-FIREWALL', 'KUBE-PROXY-FIREWALL', 'KUBE-SERVICES'],
    };
    for (const [chain, rules] of Object.entries(expected)) expect(targets('filter', chain)).toEqual(rules);
    expect(targets('nat', 'POSTROUTING')).toEqual(['KUBE-POSTROUTING']);
    const before = iptables.dump();
    await proxier.sync(cluster('a').plan(), undefined);
    expect(iptables.dump()).toBe(before);
    expect(iptables.rules('filter', 'KUBE-FIREWALL')).toEqual([]);
  });

  test('a jump that somebody removed comes back', async () => {
    const { proxier, iptables } = proxierOver();
    const plan = cluster('a').plan();
    await proxier.sync(plan, undefined);
    iptables.write('nat', 'PREROUTING', []);
    await proxier.sync(plan, undefined);
    expect(iptables.rules('nat', 'PREROUTING')).toEqual([expect.stringContaining('-j KUBE-SERVICES')]);
  });
});

describe('partial sync', () => {
  test('any sequence of changes ends where a full sync would', async () => {
    for (const backend of ['nft', 'legacy'] as const) {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(randomChange, { maxLength: 4 }), { maxLength: 8 }),
          async (syncs) => {
            const changing = new TestCluster({ localhostNodePorts: true });
            const { proxier, iptables } = testProxier({}, { iptables: new FakeIptables('IPv4', backend) });
            await proxier.sync(changing.plan(), undefined);
            for (const changes of syncs) {
              for (const change of changes) applyChange(changing, change);
              const { plan, diff } = changing.update();
              const report = await proxier.sync(plan, diff);
              expect(report.kind).toBe('partial');
              const fresh = await synced(changing, { iptables: new FakeIptables('IPv4', backend) });
              expect(normalized(iptables)).toBe(normalized(fresh));
              const nat = iptables.dump().split('*nat')[1]!.split('*mangle')[0]!;
              expect(nat.match(/^-A KUBE-/gm)!.length).toBe(report.rules.nat.total);
            }
            proxier.close();
            expect(proxier.failures).toEqual({ restores: 0, partialSyncs: 0 });
          },
        ),
        { numRuns: 60 },
      );
    }
  });

  test('nothing is written where nothing changes in the kernel', async () => {
    const changing = cluster('a', 'b');
    const { proxier, iptables } = proxierOver();
    await proxier.sync(changing.plan(), undefined);
    const { plan, diff } = changing.slice('ns/a', { p80: '80', other: '81' }, ['10.0.1.1']).update();
    expect(diff).toHaveLength(1);
    const report = await proxier.sync(plan, diff);
    expect(report.operations).toBe(0);
    expect(iptables.inputs).toHaveLength(1);
  });

  test('a new endpoint costs its chain and the chain that spreads', async () => {
    const changing = cluster('a', 'b');
    const { proxier, iptables } = proxierOver();
    await proxier.sync(changing.plan(), undefined);
    const { plan, diff } = changing.slice('ns/a', { p80: '80' }, ['10.0.1.1', '10.0.1.2']).update();
    const report = await proxier.sync(plan, diff);
    expect(report.rules.nat).toEqual({ total: 5 + 5 + 8, last: 5 });
    const written = iptables.inputs.at(-1)!;
    expect(written).toContain('--probability 0.5000000000');
    expect(written).not.toContain('KUBE-SERVICES');
    expect(written).not.toContain('*filter');
  });

  test('a Service that loses its endpoints goes from nat to filter in one run', async () => {
    const changing = cluster('a', 'b');
    const { proxier, iptables } = proxierOver();
    await proxier.sync(changing.plan(), undefined);
    const { plan, diff } = changing.deleteSlice('ns/a').update();
    await proxier.sync(plan, diff);
    expect(iptables.inputs).toHaveLength(2);
    expect(iptables.rules('filter', 'KUBE-SERVICES')).toHaveLength(1);
    expect(iptables.inputs[1]!.match(/^-X/gm)).toHaveLength(2);
  });

  test('on the legacy back-end shared chains are written whole, with the dispatch at the end', async () => {
    const changing = cluster('a', 'b');
    const { proxier, iptables } = proxierOver({}, { iptables: new FakeIptables('IPv4', 'legacy') });
    await proxier.sync(changing.plan(), undefined);
    const { plan, diff } = changing
      .service('ns/c', { clusterIP: '10.96.0.9', ports: [{ name: 'p80' }] })
      .slice('ns/c', { p80: '80' }, ['10.0.3.1'])
      .update();
    await proxier.sync(plan, diff);
    expect(iptables.inputs.at(-1)).toContain(':KUBE-SERVICES');
    expect(iptables.inputs.at(-1)).not.toMatch(/^-[DI]/m);
    expect(iptables.rules('nat', 'KUBE-SERVICES')!.at(-1)).toContain('must be the last rule');
  });

  test('without a known state a diff is answered with a full sync', async () => {
    const changing = cluster('a');
    const { proxier } = proxierOver();
    const { plan, diff } = changing.update();
    expect((await proxier.sync(plan, diff)).kind).toBe('full');
  });

  test('a foreign rule that holds a chain: the failure is counted and the next sync is full', async () => {
    const changing = cluster('a', 'b');
    const { proxier, iptables } = proxierOver();
    await proxier.sync(changing.plan(), undefined);
    const [endpointOfB] = iptables.rules('nat', svc(iptables, 'ns/b'))!.slice(-1);
    const spread = svc(iptables, 'ns/a');
    iptables.write('nat', spread, [...iptables.rules('nat', spread)!, endpointOfB!]);
    const { plan, diff } = changing.deleteService('ns/b').update();
    await expect(proxier.sync(plan, diff)).rejects.toThrow('CHAIN_DEL failed');
    expect(proxier.failures).toEqual({ restores: 1, partialSyncs: 1 });
    await proxier.sync(plan, []);
    expect(normalized(iptables)).toBe(normalized(await synced(changing)));
  });
});

/** The chain that spreads a Service's traffic. */
function svc(iptables: FakeIptables, name: string): string {
  const rule = iptables.rules('nat', 'KUBE-SERVICES')!.find((text) => text.includes(`"${name}:`))!;
  return rule.split(' ').at(-1)!;
}

describe('full sync', () => {
  test('takes over chains of an earlier process and removes stale ones', async () => {
    const iptables = await synced(cluster('a', 'b', 'c'));
    iptables.write('nat', 'KUBE-SVC-CUSTOM', []);
    await synced(cluster('a'), { iptables });
    const fresh = await synced(cluster('a'));
    fresh.write('nat', 'KUBE-SVC-CUSTOM', []);
    expect(iptables.dump()).toBe(fresh.dump());
  });

  test('a stale chain that a foreign chain leads to is emptied and stays', async () => {
    const iptables = await synced(cluster('a', 'b'));
    const chain = svc(iptables, 'ns/b');
    iptables.write('nat', 'FOREIGN', [`-j ${chain}`]);
    const { proxier } = proxierOver({}, { iptables });
    await proxier.sync(cluster('a').plan(), undefined);
    expect(iptables.rules('nat', chain)).toEqual([]);
    expect(iptables.rules('nat', 'FOREIGN')).toEqual([`-j ${chain}`]);
    expect(iptables.inputs.at(-1)).toContain(`:${chain} `);
  });

  test('the comments of many endpoints are left out', async () => {
    const many = (count: number) =>
      new TestCluster().service('ns/a', {}).slice(
        'ns/a',
        { '': '80' },
        Array.from({ length: count }, (_, n) => `10.${n >> 8}.${n & 255}.1`),
      );
    const comments = async (count: number) => {
      const dump = (await synced(many(count))).dump();
      const rules = dump.split('\n').filter((line) => /^-A KUBE-(SEP|SVC)-/.test(line));
      return rules.filter((line) => line.includes('--comment')).length;
    };
    expect(await comments(1000)).toBe(3001);
    expect(await comments(1001)).toBe(1);
  });

  test('none is wanted for the hour alone where there are many endpoints and edits of others are told of', async () => {
    const endpoints = (count: number) => Array.from({ length: count }, (_, n) => `10.${n >> 8}.${n & 255}.1`);
    const wanted = async (count: number, watched: boolean) => {
      const { proxier } = proxierOver(
        {},
        watched ? { watchForeignChanges: () => ({ [Symbol.dispose]() {} }) } : {},
      );
      const plan = new TestCluster().service('ns/a', {}).slice('ns/a', { '': '80' }, endpoints(count)).plan();
      return !(await proxier.sync(plan, undefined)).skipHourlyFullSync;
    };
    expect(await wanted(1000, true)).toBe(true);
    expect(await wanted(1001, true)).toBe(false);
    expect(await wanted(1001, false)).toBe(true);
  });

  test('an error that is no refusal is thrown and no ServicePort is blamed', async () => {
    const { proxier, iptables } = proxierOver();
    iptables.failures.push(iptablesFailure('r', 4, 'Another app is currently holding the xtables lock.'));
    const plan = cluster('a').plan();
    await expect(proxier.sync(plan, undefined)).rejects.toMatchObject({
      detail: { code: 'IPTABLES_LOCK_HELD' },
    });
    const report = await proxier.sync(plan, undefined);
    expect(report.setAside.size).toBe(0);
  });
});

describe('one bad object', () => {
  const bad = '10.0.1.1';
  const good = async () => normalized(await synced(cluster('x', 'b', 'c').deleteService('ns/x')));

  test.each(['reading', 'kernel'] as const)(
    'refused in %s: set aside, the rest is programmed',
    async (when) => {
      const events: SetAside[] = [];
      const { proxier, iptables } = proxierOver(
        { onSetAside: (event) => events.push(event) },
        { iptables: new FakeIptables('IPv4', when === 'kernel' ? 'legacy' : 'nft') },
      );
      iptables.refuse = ({ text }) => (text.includes(`--to-destination ${bad}`) ? when : 'no');
      const report = await proxier.sync(cluster('a', 'b', 'c').plan(), undefined);
      expect([...report.setAside.keys()]).toEqual(['ns/a:p80/TCP']);
      expect(events.map((event) => event.servicePort)).toEqual(['ns/a:p80/TCP']);
      expect(events[0]!.reason).toMatch(/line/);
      // Trial runs of the legacy back-end leave nothing either.
      expect(normalized(iptables)).toBe(await good());
    },
  );

  test('that comes with a change is set aside in the same call, and retried when it changes', async () => {
    const events: SetAside[] = [];
    const changing = cluster('a', 'b');
    const { proxier, iptables } = proxierOver({ onSetAside: (event) => events.push(event) });
    iptables.refuse = ({ text }) => (text.includes('--to-destination 10.9.9.9') ? 'reading' : 'no');
    await proxier.sync(changing.plan(), undefined);
    const sync = async () => {
      const { plan, diff } = changing.update();
      return proxier.sync(plan, diff);
    };
    changing.slice('ns/a', { p80: '80' }, ['10.9.9.9']);
    const report = await sync();
    expect(report.kind).toBe('full');
    expect([...report.setAside.keys()]).toEqual(['ns/a:p80/TCP']);
    changing.slice('ns/b', { p80: '80' }, ['10.0.2.2']);
    const second = await sync();
    expect(second.kind).toBe('partial');
    expect([...second.setAside.keys()]).toEqual(['ns/a:p80/TCP']);
    // Touched, but what would be written is what was refused.
    changing.slice('ns/a', { p80: '80', other: '81' }, ['10.9.9.9']);
    expect((await sync()).kind).toBe('partial');
    expect(proxier.failures.partialSyncs).toBe(1);
    changing.slice('ns/a', { p80: '80' }, ['10.0.1.9']);
    const third = await sync();
    expect(third.kind).toBe('partial');
    expect(third.setAside.size).toBe(0);
    expect(events).toHaveLength(1);
    expect(normalized(iptables)).toBe(normalized(await synced(changing)));
  });

  describe('where the kernel names no line', () => {
    const badOnes = Array.from({ length: 12 }, (_, n) => n * 33);
    const isBad = (text: string) =>
      badOnes.some((n) => text.includes(`--to-destination 10.7.${n >> 8}.${n & 255}:`));
    const many = () => {
      const made = new TestCluster();
      for (let n = 0; n < 400; n++) {
        const low = `${n >> 8}.${n & 255}`;
        made
          .service(`ns/svc${n}`, { clusterIP: `10.96.${low}`, ports: [{ name: 'p80' }] })
          .slice(`ns/svc${n}`, { p80: '80' }, [`10.7.${low}`]);
      }
      return made;
    };

    test('many among many are found, and found again at little cost', async () => {
      const { proxier, iptables } = proxierOver({}, { iptables: new FakeIptables('IPv4', 'legacy') });
      iptables.refuse = ({ text }) => (isBad(text) ? 'kernel' : 'no');
      const plan = many().plan();
      const bad = badOnes.map((n) => `ns/svc${n}:p80/TCP`).sort();
      expect([...(await proxier.sync(plan, undefined)).setAside.keys()].sort()).toEqual(bad);
      const runs = iptables.inputs.length;
      expect([...(await proxier.sync(plan, undefined)).setAside.keys()].sort()).toEqual(bad);
      // The first attempt, one trial with nobody, two for each that is refused, and the last attempt.
      expect(iptables.inputs.length - runs).toBeLessThanOrEqual(3 + 2 * bad.length);
      iptables.refuse = () => 'no';
      expect((await proxier.sync(plan, undefined)).setAside.size).toBe(0);
    });

    test.each(['nft', 'legacy'] as const)(
      'many that cannot even be read are found on the back-end %s, too',
      async (backend) => {
        const { proxier, iptables } = proxierOver({}, { iptables: new FakeIptables('IPv4', backend) });
        iptables.refuse = ({ text }) => (/10\.7\.0\.1?\d\d:/.test(text) ? 'reading' : 'no');
        const plan = many().plan();
        expect((await proxier.sync(plan, undefined)).setAside.size).toBe(190);
        const whole = (input: string) => input.includes('*filter');
        const attempts = iptables.inputs.filter(whole).length;
        expect(attempts).toBeLessThan(backend === 'nft' ? 6 : 192);
        expect((await proxier.sync(plan, undefined)).setAside.size).toBe(190);
        expect(iptables.inputs.filter(whole).length - attempts).toBe(2);
      },
    );

    test('one that comes with a change is looked for among what has changed', async () => {
      const { proxier, iptables } = proxierOver({}, { iptables: new FakeIptables('IPv4', 'legacy') });
      iptables.refuse = ({ text }) => (text.includes('--to-destination 10.9.9.9') ? 'kernel' : 'no');
      const changing = many();
      await proxier.sync(changing.plan(), undefined);
      changing.slice('ns/svc7', { p80: '80' }, ['10.9.9.9']).slice('ns/svc8', { p80: '80' }, ['10.9.9.8']);
      const { plan, diff } = changing.update();
      await expect(proxier.sync(plan, diff)).rejects.toThrow('failed');
      const runs = iptables.inputs.length;
      expect([...(await proxier.sync(plan, undefined)).setAside.keys()]).toEqual(['ns/svc7:p80/TCP']);
      expect(iptables.inputs.length - runs).toBeLessThanOrEqual(6);
    });

    test('what is refused for everybody is not looked for among them', async () => {
      const { proxier, iptables } = proxierOver({}, { iptables: new FakeIptables('IPv4', 'legacy') });
      iptables.refuse = ({ text }) => (text.includes('MASQUERADE') ? 'kernel' : 'no');
      await expect(proxier.sync(many().plan(), undefined)).rejects.toThrow('failed');
      expect(iptables.inputs).toHaveLength(2);
    });
  });

  test.each([
    ['nft', 'reading'],
    ['nft', 'kernel'],
    ['legacy', 'reading'],
    ['legacy', 'kernel'],
  ] as const)('counters that the back-end %s refuses in %s are done without', async (backend, when) => {
    const { proxier, iptables } = proxierOver(
      {},
      { iptables: new FakeIptables('IPv4', backend), ensureCounters: allCounters },
    );
    iptables.refuse = ({ text }) => (text.includes('nfacct') ? when : 'no');
    const changing = cluster('a', 'b');
    const report = await proxier.sync(changing.plan(), undefined);
    expect(report.setAside.size).toBe(0);
    expect(normalized(iptables)).toBe(normalized(await synced(changing)));
    expect(iptables.inputs).toHaveLength(2);
    await proxier.sync(changing.plan(), undefined);
    expect(iptables.inputs).toHaveLength(3);
  });

  test('where rules can count, that is found out once and leaves no trace', async () => {
    const { proxier, iptables } = proxierOver({}, { ensureCounters: allCounters });
    await proxier.sync(cluster('a').plan(), undefined);
    await proxier.sync(cluster('a').plan(), undefined);
    expect(iptables.inputs).toHaveLength(3);
    expect(iptables.rules('filter', 'KUBE-PROXY-CANARY')).toEqual([]);
    expect(iptables.rules('filter', 'KUBE-FORWARD')![0]).toContain('nfacct');
  });

  test('names that cannot stand in a rule never reach the program', async () => {
    const { proxier, iptables } = proxierOver();
    const plan = new TestCluster().service('ns/a"\n-F', {}).plan();
    const report = await proxier.sync(plan, undefined);
    expect(report.setAside.size).toBe(1);
    expect(iptables.inputs.at(-1)).not.toContain('ns/a');
  });

  test('where everything is refused the refusal is thrown', async () => {
    const { proxier, iptables } = proxierOver();
    const names = Array.from({ length: 20 }, (_, n) => `svc${n}`);
    iptables.refuse = ({ text }) => (text.includes('DNAT') ? 'reading' : 'no');
    await expect(proxier.sync(cluster(...names).plan(), undefined)).rejects.toThrow('bad argument');
  });

  test('an object that breaks the model’s promises does not break the others', async () => {
    const { proxier, iptables } = proxierOver();
    const plan = cluster('a', 'b', 'c').plan();
    iptables.refuse = ({ text }) => (text.includes(':70000') ? 'reading' : 'no');
    const broken = [...plan.servicePorts.values()][0]!;
    const endpoints: Endpoint[] = [{ ...broken.cluster[0]!, port: 70_000 }];
    const changed: ServicePortPlan = { ...broken, cluster: endpoints, allReachable: endpoints };
    const servicePorts = new Map(plan.servicePorts).set(broken.key, changed);
    const report = await proxier.sync({ ...plan, servicePorts } satisfies ProxyPlan, undefined);
    expect([...report.setAside.keys()]).toEqual([broken.key]);
  });
});

describe('changes by somebody else', () => {
  test('flushed tables are noticed after the interval, once the flush is over', async () => {
    const reasons: string[] = [];
    const { proxier, iptables, clock } = proxierOver({ onForeignChange: (what) => reasons.push(what) });
    const changing = cluster('a');
    await proxier.sync(changing.plan(), undefined);
    await clock.advance(0);
    for (const table of ['mangle', 'nat', 'filter'] as const)
      expect(iptables.rules(table, 'KUBE-PROXY-CANARY')).toEqual([]);
    await clock.advance(60_000);
    expect(reasons).toEqual([]);
    iptables.flush('mangle');
    await clock.advance(30_000);
    expect(reasons).toEqual([]);
    iptables.flush('nat');
    await clock.advance(500);
    expect(reasons).toEqual([]);
    iptables.flush('filter');
    await clock.advance(200);
    expect(reasons).toEqual(['tables were flushed']);
    const { plan, diff } = changing.update();
    expect((await proxier.sync(plan, diff)).kind).toBe('full');
    expect(iptables.rules('mangle', 'KUBE-PROXY-CANARY')).toEqual([]);
  });

  test('a program that cannot show a table makes no flush of it', async () => {
    const reasons: string[] = [];
    const { proxier, iptables, clock } = proxierOver({ onForeignChange: (what) => reasons.push(what) });
    await proxier.sync(cluster('a').plan(), undefined);
    await clock.advance(0);
    // As iptables-nft does for tables with rules that it cannot read: "is incompatible, use 'nft' tool".
    iptables.hasChain = async () => false;
    await clock.advance(120_000);
    expect(reasons).toEqual([]);
    iptables.flush('mangle');
    await clock.advance(40_000);
    expect(reasons).toEqual(['tables were flushed']);
  });

  test('events: own chains at once, base chains when a jump is gone, our own writes never', async () => {
    const reasons: string[] = [];
    let listener: ((change: RulesetChange) => void) | undefined;
    let disposed = false;
    const { proxier, iptables, clock } = proxierOver(
      { onForeignChange: (what) => reasons.push(what) },
      {
        watchForeignChanges: (given) => {
          listener = given;
          return { [Symbol.dispose]: () => (disposed = true) };
        },
      },
    );
    await proxier.sync(cluster('a').plan(), undefined);
    listener!({ table: 'nat', chain: 'KUBE-SERVICES', processName: 'iptables-nft-re' });
    // Late events of a big restore follow each other closely.
    for (let event = 0; event < 10; event++) {
      await clock.advance(400);
      listener!({ table: 'nat', chain: 'KUBE-SERVICES', processName: 'iptables-nft-re' });
    }
    expect(reasons).toEqual([]);
    listener!({ table: 'nat', chain: 'KUBE-SERVICES', processName: 'firewalld' });
    expect(reasons).toHaveLength(1);
    await clock.advance(1000);
    listener!({ table: 'nat', chain: 'KUBE-SERVICES', processName: 'iptables-nft-re' });
    expect(reasons).toHaveLength(2);
    // What a partial sync does not touch is not its echo.
    const changing = cluster('a', 'b');
    await proxier.sync(changing.plan(), undefined);
    await clock.advance(1000);
    const { plan, diff } = changing.slice('ns/a', { p80: '80' }, ['10.0.1.9']).update();
    await proxier.sync(plan, diff);
    const removed = iptables.inputs.at(-1)!.match(/^-X (\S+)/m)![1]!;
    const edited = { table: 'nat', processName: 'iptables' };
    listener!({ ...edited, chain: removed });
    listener!({ ...edited, chain: svc(iptables, 'ns/a') });
    expect(reasons).toHaveLength(2);
    listener!({ ...edited, chain: 'KUBE-SERVICES' });
    listener!({ ...edited, chain: svc(iptables, 'ns/b') });
    expect(reasons.splice(2)).toEqual([
      'chain KUBE-SERVICES of table nat changed by iptables',
      expect.stringContaining('KUBE-SVC-'),
    ]);
    // A full sync may touch anything, and is told about late.
    await proxier.sync(plan, undefined);
    await proxier.sync(plan, []);
    listener!({ ...edited, chain: 'KUBE-SERVICES' });
    expect(reasons).toHaveLength(2);
    await clock.advance(1000);
    listener!({ table: 'nat', chain: 'DOCKER' });
    listener!({ table: 'nat', chain: 'POSTROUTING' });
    await clock.advance(1000);
    expect(reasons).toHaveLength(2);
    iptables.write('nat', 'POSTROUTING', []);
    listener!({ table: 'nat', chain: 'POSTROUTING' });
    await clock.advance(1000);
    expect(reasons.at(-1)).toBe('jumps removed: nat POSTROUTING to KUBE-POSTROUTING');
    proxier.close();
    expect(disposed).toBe(true);
  });
});

describe('cleanup', () => {
  test('removes what is ours and leaves the rest', async () => {
    const untouched = () => {
      const iptables = new FakeIptables();
      iptables.write('nat', 'KUBE-SVC-CUSTOM', ['-j ACCEPT']);
      iptables.write('nat', 'POSTROUTING', ['-j KUBE-SVC-CUSTOM']);
      iptables.write('filter', 'INPUT', ['-j ACCEPT']);
      iptables.write('mangle', 'KUBE-KUBELET-CANARY', []);
      return iptables;
    };
    const iptables = untouched();
    await synced(cluster('a', 'b'), { iptables });
    iptables.write('nat', 'KUBE-XLB-XPGD46QRK7WJZT7O', [`-j ${svc(iptables, 'ns/a')}`]);
    expect(await cleanupIptables(iptables, silentLogger)).toEqual([]);
    const expected = untouched();
    const firewall = baseChainJumps.filter((jump) => jump.to === 'KUBE-FIREWALL');
    expected.write('filter', 'KUBE-FIREWALL', []);
    for (const jump of firewall) {
      const rules = expected.rules('filter', jump.from)!;
      expected.write('filter', jump.from, [jumpText(jump), ...rules]);
    }
    expect(iptables.dump()).toBe(expected.dump());
    expect(await cleanupIptables(iptables, silentLogger)).toEqual([]);
    expect(iptables.dump()).toBe(expected.dump());
  });

  test('a chain in use by somebody else stays, and the error says so', async () => {
    const iptables = await synced(cluster('a'));
    const chain = svc(iptables, 'ns/a');
    iptables.write('nat', 'FOREIGN', [`-j ${chain}`]);
    const errors = await cleanupIptables(iptables, silentLogger);
    expect(errors.map(String)).toEqual([expect.stringContaining(chain)]);
    expect((await iptables.listChains('nat')).filter((name) => name.startsWith('KUBE-'))).toEqual([chain]);
  });
});
