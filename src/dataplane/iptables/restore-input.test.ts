import { expect, test } from 'vitest';
import { TestCluster } from '../testing/test-cluster.ts';
import { partialInput } from './partial-input.ts';
import { programPort } from './programmed-port.ts';
import { ProgrammedState } from './programmed-state.ts';
import { deletionBlocks, fullInput, textOf } from './restore-input.ts';
import { ruleContext } from './rule-context.ts';
import { FakeIptables } from './testing/fake-iptables.ts';
import { applyChange } from './testing/random-changes.ts';
import { synced } from './testing/synced.ts';

test('cut into many transactions the input has the same effect, over rules of another time', async () => {
  const cluster = new TestCluster();
  for (let service = 0; service < 6; service++) {
    applyChange(cluster, {
      service,
      what: { kind: 'service', shape: service % 5, affinity: true, local: 0 },
    });
    applyChange(cluster, { service, what: { kind: 'slice', endpoints: [1, 2, 3], here: 1 } });
  }
  const plan = cluster.plan();
  const context = ruleContext(plan.settings, {
    randomFully: true,
    conntrackTcpBeLiberal: false,
    counters: new Set(),
    endpointComments: true,
  });
  const state = new ProgrammedState();
  for (const [key, port] of plan.servicePorts) state.set(key, programPort(port, context));

  const former = new TestCluster();
  applyChange(former, { service: 3, what: { kind: 'service', shape: 3, affinity: false, local: 3 } });
  applyChange(former, { service: 3, what: { kind: 'slice', endpoints: [4, 5], here: 7 } });
  former.service('gone/gone', { clusterIP: '10.96.3.3' }).slice('gone/gone', { '': '80' }, ['10.3.3.3']);
  const iptables = await synced(former);
  const existing = await iptables.listChains('nat');
  const whole = await synced(cluster);
  const needed = new Set(await whole.listChains('nat'));
  const stale = existing.filter((chain) => /^KUBE-(SVC|SVL|SEP|FW|EXT)-/.test(chain) && !needed.has(chain));
  expect(stale.length).toBeGreaterThan(2);

  const input = (chainsPerBlock: number) =>
    fullInput({
      state,
      context,
      missingJumps: [],
      staleChains: stale,
      keepChains: new Set(),
      chainsPerBlock,
    });
  const text = [...textOf(input(3))].join('');
  expect(text.match(/^COMMIT/gm)!.length).toBeGreaterThan(8);
  await iptables.restore(textOf(input(3)));
  expect(iptables.dump()).toBe(whole.dump());
});

test('cut into many transactions a partial sync has the same effect', async () => {
  const build = (shift: number) => {
    const cluster = new TestCluster();
    for (let service = 0; service < 6; service++) {
      const shape = (service + shift) % 5;
      applyChange(cluster, { service, what: { kind: 'service', shape, affinity: false, local: shift } });
      applyChange(cluster, { service, what: { kind: 'slice', endpoints: [1, 2 + shift, 5], here: 1 } });
    }
    return cluster;
  };
  const before = build(0);
  const after = build(1);
  const context = ruleContext(before.settings, {
    randomFully: true,
    conntrackTcpBeLiberal: false,
    counters: new Set(),
    endpointComments: true,
  });
  const iptables = await synced(before);
  const state = new ProgrammedState();
  const old = before.plan().servicePorts;
  const changes = [...after.plan().servicePorts].map(([key, plan]) => {
    const port = programPort(plan, context);
    state.set(key, port);
    return { key, before: programPort(old.get(key)!, context), after: port };
  });
  const output = partialInput({ state, context, changes, maxEdits: 0, chainsPerBlock: 4 });
  const text = [...textOf(output.segments)].join('');
  expect(text.match(/^COMMIT/gm)!.length).toBeGreaterThan(8);
  expect(text.match(/^-[AX]/gm)!.length).toBe(
    output.written.filter + output.written.nat + output.deletedChains,
  );
  await iptables.restore(textOf(output.segments));
  expect(iptables.dump()).toBe((await synced(after)).dump());
});

test('chains are deleted before those they lead to', async () => {
  const iptables = new FakeIptables();
  iptables.write('nat', 'KUBE-SEP-A', []);
  iptables.write('nat', 'KUBE-SVC-A', ['-j KUBE-SEP-A']);
  iptables.write('nat', 'KUBE-EXT-A', ['-j KUBE-SVC-A']);
  iptables.write('nat', 'KUBE-FW-A', ['-j KUBE-EXT-A']);
  iptables.write('nat', 'KUBE-SERVICES', ['-j KUBE-FW-A']);
  const chains = ['KUBE-SEP-A', 'KUBE-SVC-A', 'KUBE-EXT-A', 'KUBE-FW-A', 'KUBE-SERVICES'];
  await iptables.restore(textOf(deletionBlocks('nat', chains, 1, new Set())));
  expect((await iptables.listChains('nat')).filter((chain) => chain.startsWith('KUBE'))).toEqual([]);
});
