import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../base/logger.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { NetlinkConnection } from '../netlink/netlink-connection.ts';
import { NetlinkError } from '../netlink/netlink-error.ts';
import {
  type FakeAnswer,
  type FakeMessage,
  FakeNetlinkSocket,
} from '../netlink/testing/fake-netlink-socket.ts';
import { encodeAddress, RTM_DELADDR, RTM_GETADDR, RTM_NEWADDR } from './address-message.ts';
import { AddressMonitor } from './address-monitor.ts';
import { RouteConnection } from './route-connection.ts';

const address = (type: number, ip: string, interfaceIndex = 2): FakeMessage => ({
  type,
  body: (writer) => encodeAddress(writer, { ip, prefixLength: 32, interfaceIndex }),
});

/** A node whose addresses the test sets; each listing reads them as they are then. */
class FakeNode {
  ips: string[] = ['192.0.2.1'];
  failing = false;
  readonly clock = new FakeClock();
  readonly sockets: FakeNetlinkSocket[] = [];
  changes = 0;
  readonly monitor = new AddressMonitor({
    logger: silentLogger,
    clock: this.clock,
    openConnection: () =>
      new RouteConnection(new NetlinkConnection(new FakeNetlinkSocket(({ type }) => this.#answer(type)))),
    openEventSocket: () => {
      const socket = new FakeNetlinkSocket();
      this.sockets.push(socket);
      return socket;
    },
  });

  constructor() {
    this.monitor.onChange(() => this.changes++);
    this.monitor.start();
  }

  get socket(): FakeNetlinkSocket {
    return this.sockets.at(-1)!;
  }

  send(...events: FakeMessage[]): void {
    for (const event of events) this.socket.pushEvent(event);
    this.socket.notify();
  }

  fail(code: 'NETLINK_OVERRUN' | 'NETLINK_SYSCALL_FAILED'): void {
    const detail =
      code === 'NETLINK_OVERRUN'
        ? ({ code, op: 'x' } as const)
        : ({ code, op: 'x', syscall: 'recvfrom', errno: 12, errnoName: 'ENOMEM' } as const);
    this.socket.pushError(new NetlinkError(detail, 'lost'));
    this.socket.notify();
  }

  #answer(type: number): FakeAnswer {
    if (this.failing) return { errno: 105 };
    if (type === RTM_GETADDR) return { messages: this.ips.map((ip) => address(RTM_NEWADDR, ip)) };
    return undefined;
  }
}

test('knows the addresses from the start, and subscribes before it lists', () => {
  const node = new FakeNode();
  expect(node.monitor.addresses()).toEqual(['192.0.2.1']);
  expect(node.monitor.addresses('IPv6')).toEqual([]);
  expect([...node.socket.groups]).toEqual([5, 9]);
  expect(node.changes).toBe(0);
});

test('one call for a burst of events, none when they come to nothing', () => {
  const node = new FakeNode();
  node.send(address(RTM_NEWADDR, '192.0.2.2'), address(RTM_NEWADDR, 'fd00::2'));
  expect(node.changes).toBe(1);
  expect(node.monitor.addresses()).toEqual(['192.0.2.1', '192.0.2.2', 'fd00::2']);
  // Known already, e.g. because only its lifetime changed; then there and gone again within one burst.
  node.send(address(RTM_NEWADDR, '192.0.2.2'));
  node.send(address(RTM_NEWADDR, '192.0.2.3'), address(RTM_DELADDR, '192.0.2.3'));
  expect(node.changes).toBe(1);
  node.send(address(RTM_DELADDR, '192.0.2.1'));
  expect(node.changes).toBe(2);
  expect(node.monitor.addresses('IPv4')).toEqual(['192.0.2.2']);
});

test('an address on two interfaces is there until both have lost it', () => {
  const node = new FakeNode();
  node.send(address(RTM_NEWADDR, '192.0.2.1', 3));
  expect(node.monitor.addresses()).toEqual(['192.0.2.1']);
  node.send(address(RTM_DELADDR, '192.0.2.1', 2));
  expect(node.monitor.addresses()).toEqual(['192.0.2.1']);
  node.send(address(RTM_DELADDR, '192.0.2.1', 3));
  expect(node.monitor.addresses()).toEqual([]);
});

describe('when events are lost', () => {
  test('it lists again', () => {
    const node = new FakeNode();
    node.ips = ['192.0.2.7'];
    node.fail('NETLINK_OVERRUN');
    expect(node.monitor.addresses()).toEqual(['192.0.2.7']);
    expect(node.changes).toBe(1);
  });

  test('it keeps what it knows until a listing works again', async () => {
    const node = new FakeNode();
    node.ips = ['192.0.2.7'];
    node.failing = true;
    node.fail('NETLINK_OVERRUN');
    await node.clock.advance(5000);
    expect(node.monitor.addresses()).toEqual(['192.0.2.1']);
    node.failing = false;
    await node.clock.advance(1000);
    expect(node.monitor.addresses()).toEqual(['192.0.2.7']);
    expect(node.changes).toBe(1);
    expect(node.clock.pending).toBe(0);
  });

  test('a socket that fails is replaced', () => {
    const node = new FakeNode();
    node.ips = ['192.0.2.7'];
    node.fail('NETLINK_SYSCALL_FAILED');
    expect(node.sockets).toHaveLength(2);
    expect(node.sockets[0]!.closed).toBe(true);
    expect(node.monitor.addresses()).toEqual(['192.0.2.7']);
    node.send(address(RTM_NEWADDR, '192.0.2.8'));
    expect(node.monitor.addresses()).toContain('192.0.2.8');
  });
});

test('closing ends everything, retries included', async () => {
  const node = new FakeNode();
  node.failing = true;
  node.fail('NETLINK_OVERRUN');
  node.monitor.close();
  expect(node.socket.closed).toBe(true);
  expect(node.clock.pending).toBe(0);
});

test('a start that fails leaves nothing open', () => {
  const sockets: FakeNetlinkSocket[] = [];
  const open = () => {
    const socket = new FakeNetlinkSocket(() => ({ errno: 1 }));
    sockets.push(socket);
    return socket;
  };
  const monitor = new AddressMonitor({
    logger: silentLogger,
    clock: new FakeClock(),
    openConnection: () => new RouteConnection(new NetlinkConnection(open())),
    openEventSocket: open,
  });
  expect(() => monitor.start()).toThrow('list addresses: kernel answered EPERM');
  expect(sockets.map((socket) => socket.closed)).toEqual([true, true]);
});
