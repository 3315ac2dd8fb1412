import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Namespace } from '../../../test/netns/namespace.ts';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/logger.ts';
import { isExists, isNotPermitted, isNotSupported } from '../netlink/netlink-error.ts';
import { NETLINK_ROUTE, openNetlinkSocket } from '../netlink/netlink-socket.ts';
import { AddressMonitor } from './address-monitor.ts';
import { RouteConnection } from './route-connection.ts';

/** The kernel tells within milliseconds; a busy machine may need longer to listen. */
const SOON = { timeout: 20_000, interval: 5 };

let namespace: Namespace;
let route: RouteConnection;

beforeAll(() => {
  namespace = Namespace.create('flf-route');
  namespace.run('ip', 'link', 'add', 'v0', 'type', 'veth', 'peer', 'name', 'v1');
  namespace.run('ip', 'link', 'set', 'v1', 'up');
  route = namespace.inside(() => RouteConnection.open());
});

afterAll(() => {
  route?.close();
  namespace?.delete();
});

function thrownBy(work: () => void): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

test('links are listed as `ip link` shows them', () => {
  const shown = JSON.parse(namespace.run('ip', '-j', '-d', 'link', 'show')) as {
    ifindex: number;
    ifname: string;
    flags: string[];
    linkinfo?: { info_kind: string };
  }[];
  const listed = route.listLinks().map(({ index, name, isUp, kind }) => ({ index, name, isUp, kind }));
  expect(listed).toEqual(
    shown.map((link) => ({
      index: link.ifindex,
      name: link.ifname,
      isUp: link.flags.includes('UP'),
      kind: link.linkinfo?.info_kind,
    })),
  );
  expect(listed.find((link) => link.name === 'v1')).toMatchObject({ isUp: true, kind: 'veth' });
});

test('addresses are added, listed and deleted', () => {
  const { index } = route.getLink('v0')!;
  route.setLinkState(index, true);
  const v4 = { ip: '10.96.0.10', prefixLength: 32, interfaceIndex: index };
  const v6 = { ip: 'fd00::10', prefixLength: 128, interfaceIndex: index };
  route.addAddress(v4);
  route.addAddress(v6);
  expect(isExists(thrownBy(() => route.addAddress(v4)))).toBe(true);
  expect(route.listAddresses('IPv4').map((address) => address.ip)).toEqual(['127.0.0.1', '10.96.0.10']);
  expect(route.listAddresses()).toContainEqual(
    expect.objectContaining({
      family: 'IPv6',
      ip: 'fd00::10',
      prefixLength: 128,
      interfaceIndex: index,
      scope: 0,
    }),
  );
  expect(namespace.run('ip', '-br', 'address', 'show', 'dev', 'v0')).toContain('10.96.0.10/32 fd00::10/128');
  route.deleteAddress(v4);
  route.deleteAddress(v6);
  // The link-local address has random digits.
  expect(route.listAddresses().filter(({ ip }) => ip === v4.ip || ip === v6.ip)).toEqual([]);
  expect(thrownBy(() => route.deleteAddress(v4))).toMatchObject({ detail: { errnoName: 'EADDRNOTAVAIL' } });
  expect(route.getLink('nope')).toBeUndefined();
});

test('the address of a point-to-point interface is its own, not the peer', () => {
  namespace.run('ip', 'address', 'add', '192.0.2.1', 'peer', '192.0.2.2', 'dev', 'v1');
  const ips = route.listAddresses('IPv4').map((address) => address.ip);
  namespace.run('ip', 'address', 'flush', 'dev', 'v1');
  expect(ips).toContain('192.0.2.1');
  expect(ips).not.toContain('192.0.2.2');
});

test('thousands of addresses go in few calls, and refusals name the address', () => {
  const { index } = route.getLink('v0')!;
  const all = Array.from({ length: 3000 }, (_, i) => ({
    ip: `10.97.${i >> 8}.${i & 255}`,
    prefixLength: 32,
    interfaceIndex: index,
  }));
  route.addAddress(all[2500]!);
  const refused = route.addAddresses(all);
  expect(refused).toEqual([expect.objectContaining({ address: all[2500], errnoName: 'EEXIST' })]);
  expect(route.listAddresses('IPv4').filter((address) => address.ip.startsWith('10.97.'))).toHaveLength(3000);
  expect(route.deleteAddresses(all)).toEqual([]);
  expect(route.deleteAddresses(all.slice(0, 2))).toHaveLength(2);
});

test('a dummy link is created, or refused because the kernel has no such driver', () => {
  try {
    route.addDummyLink('flf-dummy');
  } catch (error) {
    expect(isNotSupported(error) || isNotPermitted(error)).toBe(true);
    return;
  }
  expect(route.getLink('flf-dummy')).toMatchObject({ kind: 'dummy', isUp: false });
  route.deleteLink('flf-dummy');
  expect(route.getLink('flf-dummy')).toBeUndefined();
});

test('links are deleted by name', () => {
  namespace.run('ip', 'link', 'add', 'v8', 'type', 'veth', 'peer', 'name', 'v9');
  route.deleteLink('v8');
  expect(route.getLink('v9')).toBeUndefined();
  expect(thrownBy(() => route.deleteLink('v8'))).toMatchObject({ detail: { errnoName: 'ENODEV' } });
});

test('the monitor follows addresses that come, go, and go with their interface', async () => {
  const monitor = new AddressMonitor({
    logger: silentLogger,
    clock: systemClock,
    openConnection: () => namespace.inside(() => RouteConnection.open()),
    openEventSocket: () => namespace.inside(() => openNetlinkSocket(NETLINK_ROUTE)),
  });
  monitor.start();
  let changes = 0;
  monitor.onChange(() => changes++);
  const { index } = route.getLink('v0')!;
  expect(monitor.addresses('IPv4')).toEqual(['127.0.0.1']);

  route.addAddress({ ip: '10.98.0.1', prefixLength: 32, interfaceIndex: index });
  await vi.waitFor(() => expect(changes).toBe(1), SOON);
  expect(monitor.addresses('IPv4')).toContain('10.98.0.1');

  // One burst, one call.
  route.addAddresses(
    Array.from({ length: 50 }, (_, i) => ({ ip: `10.98.1.${i}`, prefixLength: 32, interfaceIndex: index })),
  );
  await vi.waitFor(() => expect(monitor.addresses('IPv4')).toHaveLength(52), SOON);
  expect(changes).toBe(2);

  namespace.run('ip', 'link', 'add', 'v8', 'type', 'veth', 'peer', 'name', 'v9');
  namespace.run('ip', 'address', 'add', 'fd00::8/64', 'dev', 'v8', 'nodad');
  await vi.waitFor(() => expect(monitor.addresses('IPv6')).toContain('fd00::8'), SOON);
  namespace.run('ip', 'link', 'delete', 'v8');
  await vi.waitFor(() => expect(monitor.addresses('IPv6')).not.toContain('fd00::8'), SOON);

  monitor.close();
  const before = changes;
  route.addAddress({ ip: '10.98.0.2', prefixLength: 32, interfaceIndex: index });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(changes).toBe(before);
});

test('lost events are made good by listing again', async () => {
  const monitor = new AddressMonitor({
    logger: silentLogger,
    clock: systemClock,
    openConnection: () => namespace.inside(() => RouteConnection.open()),
    openEventSocket: () => namespace.inside(() => openNetlinkSocket(NETLINK_ROUTE, { receiveBuffer: 4096 })),
  });
  monitor.start();
  const { index } = route.getLink('v0')!;
  // Synchronous, so nothing is received meanwhile and the queue of a few kilobytes fills up.
  route.addAddresses(
    Array.from({ length: 1000 }, (_, i) => ({
      ip: `10.99.${i >> 8}.${i & 255}`,
      prefixLength: 32,
      interfaceIndex: index,
    })),
  );
  await vi.waitFor(
    () => expect(monitor.addresses('IPv4').filter((ip) => ip.startsWith('10.99.'))).toHaveLength(1000),
    SOON,
  );
  monitor.close();
});
