import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cidrContains } from '../../base/ip.ts';
import { endpointString } from '../../model/endpoint.ts';
import type { PlanSettings } from '../../plan/plan-settings.ts';
import type { Frontend, ServicePortPlan } from '../../plan/proxy-plan.ts';
import { TestCluster } from '../testing/test-cluster.ts';
import { applyChange, randomChange, randomSettings } from './testing/random-changes.ts';
import { fakeTable, fullySynced } from './testing/test-table.ts';
import { outcomeText, type TracedPacket, tracePacket } from './testing/trace-packet.ts';

interface Client {
  readonly kind: 'pod' | 'node' | 'outside';
  readonly ip: string;
  readonly interface?: string;
}

function clientsOf(settings: PlanSettings): readonly Client[] {
  const v4 = settings.family === 'IPv4';
  return [
    { kind: 'pod', ip: v4 ? '10.0.99.9' : 'fd00:10::99', interface: 'br0' },
    { kind: 'node', ip: settings.nodeIP },
    { kind: 'outside', ip: v4 ? '203.0.113.9' : '2001:db8:113::9', interface: 'eth0' },
    { kind: 'outside', ip: v4 ? '203.0.114.9' : '2001:db8:114::9', interface: 'eth0' },
  ];
}

/** What the spec (0.1, 0.2, A8 to A15) says comes of a connection, told from the plan without any rules. */
function expectedOutcome(
  plan: ServicePortPlan,
  frontend: Frontend,
  client: Client,
  settings: PlanSettings,
): string {
  const { servicePort, cluster, local, hasAnyEndpoints } = plan;
  const to = (endpoints: ServicePortPlan['endpoints'], masqueraded: boolean) =>
    `${endpoints.map(endpointString).sort().join(', ')}${masqueraded ? ' masqueraded' : ''}`;
  const ranges = servicePort.loadBalancerSourceRanges;
  if (
    frontend.kind === 'LoadBalancerIP' &&
    ranges.length > 0 &&
    !ranges.some((range) => cidrContains(range, client.ip))
  )
    return 'drop';
  if (!hasAnyEndpoints) return 'reject';
  const canTell = settings.localTraffic.kind !== 'none';
  if (frontend.kind === 'ClusterIP') {
    const endpoints = servicePort.internalPolicyLocal ? local : cluster;
    return endpoints.length === 0
      ? 'drop'
      : to(endpoints, settings.masqueradeAll || (canTell && client.kind !== 'pod'));
  }
  if (!servicePort.externalPolicyLocal) return to(cluster, true);
  if (client.kind === 'pod' && canTell) return to(cluster, false);
  if (client.kind === 'node') return to(cluster, true);
  return local.length === 0 ? 'drop' : to(local, false);
}

test('every client reaches what the plan says, at every frontend of any cluster', async () => {
  let flows = 0;
  const round = fc.array(randomChange, { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(
      randomSettings,
      fc.array(round, { minLength: 1, maxLength: 4 }),
      async (fields, rounds) => {
        const table = fakeTable(new TestCluster(fields));
        await table.fullSync();
        for (const changes of rounds) {
          for (const change of changes) applyChange(table.cluster, change);
          await table.partialSync();
        }
        const { settings } = table.cluster;
        const node = { localAddresses: new Set([settings.nodeIP]) };
        const listing = table.listing();
        const found: string[] = [];
        const expected: string[] = [];
        for (const plan of table.cluster.plan().servicePorts.values()) {
          for (const frontend of plan.frontends) {
            for (const client of clientsOf(settings)) {
              const packet: TracedPacket = {
                from: client.ip,
                to: frontend.kind === 'NodePort' ? settings.nodeIP : frontend.ip,
                port: frontend.port,
                protocol: plan.servicePort.protocol === 'UDP' ? 'udp' : 'tcp',
                ...(client.interface === undefined ? {} : { interface: client.interface }),
              };
              const flow = `${client.ip} -> ${packet.to} ${packet.port} (${frontend.kind}): `;
              const outcomes = tracePacket(listing, packet, node);
              found.push(flow + outcomeText(outcomes));
              expected.push(flow + expectedOutcome(plan, frontend, client, settings));
              expect(outcomes.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9);
              flows++;
            }
          }
        }
        expect(found).toEqual(expected);
      },
    ),
    { numRuns: 60 },
  );
  expect(flows).toBeGreaterThan(1000);
}, 120_000);

test.each([1, 2, 3, 5, 8, 9, 17])('%i endpoints get equal shares', async (count) => {
  const cluster = new TestCluster()
    .service('ns/svc', { clusterIP: '10.96.0.1', ports: [{ name: 'a' }] })
    .slice(
      'ns/svc',
      { a: '8080' },
      Array.from({ length: count }, (_, i) => `10.0.0.${i + 1}`),
    );
  const table = await fullySynced(cluster);
  const packet = { from: '10.0.99.9', to: '10.96.0.1', port: 80, protocol: 'tcp' } as const;
  const shares = tracePacket(table.listing(), packet, { localAddresses: new Set() }).map(
    ({ share }) => share,
  );
  expect(shares).toHaveLength(count);
  expect(Math.max(...shares) / Math.min(...shares)).toBeLessThan(1.008);
});
