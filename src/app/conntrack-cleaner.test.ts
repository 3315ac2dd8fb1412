import { expect, test, vi } from 'vitest';
import { silentLogger } from '../base/logger.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { ReconcileResult } from '../dataplane/conntrack/reconcile.ts';
import { ConntrackConnection } from '../kernel/conntrack/conntrack-connection.ts';
import { encodeNewFlow, type NewFlow } from '../kernel/conntrack/conntrack-message.ts';
import { type NetlinkMessage, NLM_F_DUMP } from '../kernel/netlink/message.ts';
import { NetlinkConnection } from '../kernel/netlink/netlink-connection.ts';
import { type FakeAnswer, FakeNetlinkSocket } from '../kernel/netlink/testing/fake-netlink-socket.ts';
import { EndpointSliceCache } from '../model/endpoint-slice-cache.ts';
import { ServiceChangeTracker } from '../model/service-change-tracker.ts';
import { endpoint, service, slice } from '../model/testing/objects.ts';
import { Planner } from '../plan/planner.ts';
import { settings } from '../plan/testing/settings.ts';
import { ConntrackCleaner } from './conntrack-cleaner.ts';

const CT_GET = 0x101;
const CT_DELETE = 0x102;
const CTA_STATUS_MASK = 26;

/** A plan that follows Services and slices, a table of flows, and a cleaner that is told of each sync. */
function setup() {
  const ignore = () => {};
  const services = new ServiceChangeTracker('IPv4', ignore);
  const slices = new EndpointSliceCache({ family: 'IPv4', nodeName: 'node1', report: ignore });
  const planner = new Planner(settings(), ignore);
  const clock = new FakeClock();
  const flows: NewFlow[] = [];
  const kernel = { fails: false, listings: [] as ('udp' | 'unanswered')[], deletions: 0, onList: ignore };
  const answer = (message: NetlinkMessage): FakeAnswer => {
    if (message.type === CT_DELETE) {
      kernel.deletions++;
      return undefined;
    }
    expect(message.type).toBe(CT_GET);
    if ((message.flags & NLM_F_DUMP) !== NLM_F_DUMP) return { errno: 2 };
    const attributes: number[] = [];
    const reader = message.attributes('list');
    while (reader.next()) attributes.push(reader.type);
    kernel.listings.push(attributes.includes(CTA_STATUS_MASK) ? 'unanswered' : 'udp');
    kernel.onList();
    if (kernel.fails) return { errno: 1 };
    return {
      messages: flows.map((flow) => ({
        type: 0x100,
        body: (writer) => {
          writer.bytes[writer.reserve(4)] = 2;
          encodeNewFlow(writer, flow);
        },
      })),
    };
  };
  const results: ReconcileResult[] = [];
  const errors: unknown[] = [];
  const open = () => new ConntrackConnection(new NetlinkConnection(new FakeNetlinkSocket(answer)));
  const cleaner = new ConntrackCleaner(open, {
    clock,
    logger: { ...silentLogger, error: (_message: string, error?: unknown) => void errors.push(error) },
    localAddresses: () => [],
    onResult: (result) => results.push(result),
  });
  const sync = (kind: 'full' | 'partial' | 'failed') => {
    const changed = new Set([...services.checkout().keys(), ...slices.checkout().keys()]);
    const input = {
      services: services.services,
      endpoints: (name: string, portName: string, protocol: string) =>
        slices.endpoints(name, portName, protocol),
    };
    const changes = kind === 'full' ? undefined : planner.update(input, changed);
    if (changes === undefined) planner.replan(input, settings());
    if (kind === 'failed') return;
    cleaner.synced({
      family: 'IPv4',
      full: kind === 'full',
      milliseconds: 1,
      phases: { wait: 0, plan: 0, apply: 0 },
      plan: planner.plan,
      changes,
      report: { operations: 1 },
      udpEndpointsChanged: false,
      triggerTimes: new Map(),
      delays: [],
    });
  };
  const passed = (count: number) =>
    vi.waitFor(() => expect(results).toHaveLength(count), { timeout: 20_000 });
  return { services, slices, sync, kernel, flows, results, errors, passed, cleaner, clock };
}

const VIP = '10.96.0.10';
const ports = (protocol: string) => ({ ports: [{ name: 'p', port: 53, protocol }] });
const web = (protocol: string) => service({ clusterIP: VIP, ports: [{ name: 'p', protocol, port: 53 }] });
const flowTo = (protocol: number, replySource: string): NewFlow => ({
  original: { protocol, source: '10.0.0.9', sourcePort: 1, destination: VIP, destinationPort: 53 },
  reply: {
    protocol,
    source: replySource,
    sourcePort: 53,
    destination: '10.0.0.9',
    destinationPort: 1,
  },
  timeoutSeconds: 30,
});

test('the table is looked at when a Service is first served, and when an endpoint left; not when one came', async () => {
  const { services, slices, sync, kernel, passed, results } = setup();
  sync('full');
  services.update(web('TCP'));
  sync('partial');
  expect(kernel.listings).toEqual([]);
  const setEndpoints = (...ips: string[]) => {
    slices.update(slice({ ...ports('TCP'), endpoints: ips.map((ip) => endpoint(ip)) }));
    sync('partial');
  };
  setEndpoints('10.0.0.1');
  // The sync itself waits for nothing.
  expect(results).toEqual([]);
  await passed(1);
  setEndpoints('10.0.0.1', '10.0.0.2');
  setEndpoints('10.0.0.1', '10.0.0.2', '10.0.0.3');
  expect(kernel.listings).toEqual(['unanswered']);
  setEndpoints('10.0.0.2', '10.0.0.3');
  await passed(2);
  expect(kernel.listings).toEqual(['unanswered', 'unanswered']);
});

test('UDP and connections are each listed once, and only when they are concerned', async () => {
  const { services, slices, sync, kernel, passed } = setup();
  const both = [
    { name: 'udp', port: 53, protocol: 'UDP' },
    { name: 'tcp', port: 53, protocol: 'TCP' },
  ];
  services.update(service({ clusterIP: VIP, ports: both }));
  slices.update(slice({ ports: both, endpoints: [endpoint('10.0.0.1')] }));
  sync('full');
  await passed(2);
  expect(kernel.listings.splice(0)).toEqual(['udp', 'unanswered']);
  slices.update(slice({ ports: [both[1]!], endpoints: [endpoint('10.0.0.1')] }));
  sync('partial');
  await passed(3);
  expect(kernel.listings.splice(0)).toEqual(['udp']);
  sync('full');
  await passed(5);
  expect(kernel.listings).toEqual(['udp', 'unanswered']);
});

test('UDP flows do not wait for the time that connections have to be answered', async () => {
  const { services, slices, sync, kernel, flows, passed, results, clock } = setup();
  const both = [
    { name: 'udp', port: 53, protocol: 'UDP' },
    { name: 'tcp', port: 53, protocol: 'TCP' },
  ];
  services.update(service({ clusterIP: VIP, ports: both }));
  slices.update(slice({ ports: both, endpoints: [endpoint('10.0.0.1')] }));
  flows.push({ ...flowTo(6, VIP), connectionState: 1 });
  sync('full');
  await vi.waitFor(() => expect(clock.pending).toBe(1), { timeout: 20_000 });
  await passed(1);
  flows.push(flowTo(17, '10.0.0.1'));
  slices.update(slice({ ports: [both[0]!], endpoints: [endpoint('10.0.0.2')] }));
  sync('partial');
  await passed(2);
  expect(results[1]).toMatchObject({ examined: 1, deleted: 1 });
  expect(clock.pending).toBe(1);
  expect(kernel.listings).toEqual(['udp', 'unanswered', 'udp']);
});

test('a Service that went while syncs failed is found by the full sync that ends well', async () => {
  const { services, slices, sync, kernel, flows, passed, results } = setup();
  services.update(web('UDP'));
  slices.update(slice({ ...ports('UDP'), endpoints: [endpoint('10.0.0.1')] }));
  sync('full');
  await passed(1);
  services.delete('default', 'web');
  sync('failed');
  flows.push(flowTo(17, '10.0.0.1'));
  sync('full');
  await passed(2);
  expect(results.at(-1)).toMatchObject({ examined: 1, deleted: 1 });
  expect(kernel.deletions).toBe(1);
});

test('what a pass that failed was to look at is looked at by the next one', async () => {
  const { services, slices, sync, kernel, flows, passed, results, errors } = setup();
  services.update(web('UDP'));
  slices.update(slice({ ...ports('UDP'), endpoints: [endpoint('10.0.0.1')] }));
  sync('full');
  await passed(1);
  flows.push(flowTo(17, '10.0.0.1'));
  kernel.fails = true;
  services.delete('default', 'web');
  sync('partial');
  await vi.waitFor(() => expect(errors).toHaveLength(1), { timeout: 20_000 });
  kernel.fails = false;
  services.update(service({ name: 'other', clusterIP: '10.96.0.11', ...ports('UDP') }));
  slices.update(
    slice({ name: 'other-1', serviceName: 'other', ...ports('UDP'), endpoints: [endpoint('10.0.0.2')] }),
  );
  sync('partial');
  await passed(2);
  expect(results.at(-1)).toMatchObject({ deleted: 1 });
});

test('syncs that follow each other faster than passes do not keep stale flows alive for ever', async () => {
  const { services, slices, sync, kernel, flows, passed, results } = setup();
  services.update(web('UDP'));
  flows.push(flowTo(17, '10.0.0.99'));
  let round = 0;
  const change = () => {
    round++;
    slices.update(slice({ ...ports('UDP'), endpoints: [endpoint(`10.0.0.${1 + (round % 2)}`)] }));
  };
  kernel.onList = () => {
    if (round >= 30) return;
    change();
    sync('partial');
  };
  change();
  sync('full');
  await vi.waitFor(() => expect(kernel.listings).toHaveLength(30), { timeout: 20_000 });
  await passed(5);
  for (const result of results) expect(result).toMatchObject({ outdated: false, deleted: 1 });
});

test('a pass that the end of the program interrupts is no error', async () => {
  const { services, slices, sync, kernel, flows, results, errors, cleaner, clock } = setup();
  services.update(web('TCP'));
  slices.update(slice({ ...ports('TCP'), endpoints: [endpoint('10.0.0.1')] }));
  flows.push({ ...flowTo(6, '10.0.0.99'), connectionState: 1 });
  sync('full');
  // It waits for the client to be answered.
  await vi.waitFor(() => expect(clock.pending).toBe(1), { timeout: 20_000 });
  cleaner.close();
  await clock.advance(1000);
  sync('full');
  await clock.advance(1000);
  expect(kernel.listings).toEqual(['unanswered']);
  expect({ results, errors }).toEqual({ results: [], errors: [] });
});
