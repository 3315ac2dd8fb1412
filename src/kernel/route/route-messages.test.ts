import { describe, expect, test } from 'vitest';
import type { AttributeWriter } from '../netlink/attribute-writer.ts';
import { type NetlinkMessage, readMessages } from '../netlink/message.ts';
import { NetlinkConnection } from '../netlink/netlink-connection.ts';
import { FakeNetlinkSocket } from '../netlink/testing/fake-netlink-socket.ts';
import { diffLabelledHex } from '../netlink/testing/labelled-hex.ts';
import { decodeAddress, encodeAddress, RTM_NEWADDR } from './address-message.ts';
import { decodeLink } from './link-message.ts';
import { RouteConnection } from './route-connection.ts';

/** The message that a call sends, compared word by word; text behind the hex is commentary. */
function expectSent(call: (route: RouteConnection) => void, golden: string): void {
  const socket = new FakeNetlinkSocket();
  call(new RouteConnection(new NetlinkConnection(socket)));
  expect(diffLabelledHex(golden, socket.sent[0]!)).toBeUndefined();
}

const golden = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');

describe('requests', () => {
  // ip link add kube-ipvs0 type dummy
  test('a dummy link is added as iproute2 does', () => {
    expectSent(
      (route) => route.addDummyLink('kube-ipvs0'),
      golden(`
        40 00 00 00  length 64
        10 00 05 06  RTM_NEWLINK; REQUEST, ACK, EXCL, CREATE
        01 00 00 00  sequence
        00 00 00 00  port
        00 00 00 00  AF_UNSPEC
        00 00 00 00  any index
        00 00 00 00  flags
        00 00 00 00  change mask
        0f 00 03 00  IFLA_IFNAME
        6b 75 62 65  kube
        2d 69 70 76  -ipv
        73 30 00 00  s0
        10 00 12 80  IFLA_LINKINFO, nested
        0a 00 01 00  IFLA_INFO_KIND
        64 75 6d 6d  dumm
        79 00 00 00  y
      `),
    );
  });

  // ip address add 10.96.0.10/32 dev <index 7>
  test('an IPv4 address', () => {
    expectSent(
      (route) => route.addAddress({ ip: '10.96.0.10', prefixLength: 32, interfaceIndex: 7 }),
      golden(`
        28 00 00 00  length 40
        14 00 05 06  RTM_NEWADDR; REQUEST, ACK, EXCL, CREATE
        01 00 00 00
        00 00 00 00
        02 20 00 00  AF_INET, /32, no flags, global scope
        07 00 00 00  index
        08 00 02 00  IFA_LOCAL
        0a 60 00 0a
        08 00 01 00  IFA_ADDRESS
        0a 60 00 0a
      `),
    );
  });

  test('an address that is not canonical is refused before anything is sent', () => {
    const socket = new FakeNetlinkSocket();
    const route = new RouteConnection(new NetlinkConnection(socket));
    expect(() => route.addAddress({ ip: 'fe80::1%v0', prefixLength: 64, interfaceIndex: 1 })).toThrow(
      RangeError,
    );
    expect(socket.sent).toEqual([]);
  });
});

function messageOf(type: number, body: (writer: AttributeWriter) => void): NetlinkMessage {
  const socket = new FakeNetlinkSocket();
  socket.pushEvent({ type, body });
  return [...readMessages(socket.receive('now', 'x')!)][0]!;
}

describe('answers', () => {
  test.each([
    { ip: '192.0.2.1', prefixLength: 24, interfaceIndex: 3 },
    { ip: 'fd00::1', prefixLength: 128, interfaceIndex: 70_000 },
  ])('$ip is read as it was written', (address) => {
    const message = messageOf(RTM_NEWADDR, (writer) => encodeAddress(writer, address, 0x82));
    expect(decodeAddress(message)).toMatchObject({ ...address, flags: 0x82, scope: 0 });
  });

  test('other families, and what a bridge says of its ports, are passed over', () => {
    const mpls = messageOf(RTM_NEWADDR, (writer) => {
      writer.bytes[writer.reserve(8)] = 28;
    });
    expect(decodeAddress(mpls)).toBeUndefined();
    const port = messageOf(17, (writer) => {
      writer.bytes[writer.reserve(16)] = 7;
      writer.addString(3, 'v0');
    });
    expect(decodeLink(port)).toBeUndefined();
  });
});
