import { describe, expect, test } from 'vitest';
import { flowBetween } from '../../kernel/conntrack/testing/flow-view.ts';
import { UdpFrontends, type UdpFrontendsInput } from './stale-flows.ts';

const UDP = 17;
const TCP = 6;
const SCTP = 132;
const CLIENT = '10.0.0.9:1234';
const serviceIPs = ['172.30.1.1', '192.168.99.100', '1.2.3.4'];

function frontends(
  servingEndpoints: { ip: string; port: number }[],
  more: Partial<UdpFrontendsInput> = {},
): UdpFrontends {
  return new UdpFrontends({
    family: 'IPv4',
    servicePorts: [
      {
        frontends: [...serviceIPs.map((ip) => ({ ip, port: 8000 })), { nodePort: 32_000 }],
        servingEndpoints,
      },
    ],
    ...more,
  });
}

const serving = [{ ip: '10.240.0.4', port: 9090 }];
const NODE = '192.168.10.2';

describe('the vectors of spec A.4.3', () => {
  const table = frontends(serving);
  const isStale = (destination: string, replySource: string, protocol = UDP) =>
    table.isStale(flowBetween(CLIENT, destination, replySource, protocol));

  test.each(serviceIPs)('%s:8000', (ip) => {
    expect(isStale(`${ip}:8000`, '10.240.0.4:9090')).toBe(false);
    expect(isStale(`${ip}:8000`, '10.240.0.4:8080')).toBe(true);
    expect(isStale(`${ip}:8000`, '10.240.1.5:9090')).toBe(true);
    expect(isStale(`${ip}:8000`, '10.240.2.6:9090')).toBe(true);
    expect(isStale(`${ip}:8000`, `${ip}:0`)).toBe(true);
    expect(isStale(`${ip}:8000`, `${ip}:8000`)).toBe(true);
    expect(isStale(`${ip}:3000`, '10.240.2.6:9090')).toBe(false);
    expect(isStale(`${ip}:3000`, `${ip}:3000`)).toBe(false);
  });

  test('nodePort, on any address', () => {
    expect(isStale(`${NODE}:32000`, '10.240.0.4:9090')).toBe(false);
    expect(isStale(`${NODE}:32000`, '10.240.1.5:9090')).toBe(true);
    expect(isStale(`${NODE}:32000`, '10.240.2.6:9090')).toBe(true);
    expect(isStale(`${NODE}:32001`, '10.240.2.6:9090')).toBe(false);
  });

  test.each([TCP, SCTP])('protocol %i is never touched', (protocol) => {
    for (const destination of [...serviceIPs.map((ip) => `${ip}:8000`), `${NODE}:32000`]) {
      expect(isStale(destination, '10.240.2.6:9090', protocol)).toBe(false);
    }
  });

  test('the mix of 72 flows ends with 58', () => {
    const replies = ['10.240.0.4:9090', '10.240.0.4:8080', '10.240.1.5:9090', '10.240.2.6:9090'];
    const flows = [UDP, TCP, SCTP].flatMap((protocol) => [
      ...serviceIPs.flatMap((ip) => [
        ...replies.map((reply) => flowBetween(CLIENT, `${ip}:8000`, reply, protocol)),
        flowBetween(CLIENT, `${ip}:8000`, `${ip}:0`, protocol),
        flowBetween(CLIENT, `${ip}:3000`, '10.240.0.4:9090', protocol),
        flowBetween(CLIENT, `${ip}:3000`, '10.240.2.6:9090', protocol),
      ]),
      flowBetween(CLIENT, `${NODE}:32000`, '10.240.0.4:9090', protocol),
      flowBetween(CLIENT, `${NODE}:32000`, '10.240.1.5:9090', protocol),
      flowBetween(CLIENT, `${NODE}:32000`, '10.240.2.6:9090', protocol),
    ]);
    expect(flows).toHaveLength(72);
    expect(flows.filter((flow) => !table.isStale(flow))).toHaveLength(58);
  });
});

describe('without serving endpoints', () => {
  const table = frontends([]);
  test('translated flows go, untranslated ones are left to the rules', () => {
    for (const destination of ['172.30.1.1:8000', `${NODE}:32000`]) {
      expect(table.isStale(flowBetween(CLIENT, destination, '10.240.0.4:9090'))).toBe(true);
      expect(table.isStale(flowBetween(CLIENT, destination, destination))).toBe(false);
    }
    // The same address on another port is a translation too.
    expect(table.isStale(flowBetween(CLIENT, '172.30.1.1:8000', '172.30.1.1:9090'))).toBe(true);
  });
});

describe('removed frontends', () => {
  test('translated flows go, untranslated ones stay', () => {
    const table = frontends(serving, { removed: [{ nodePort: 30_053 }, { ip: '1.2.3.5', port: 8000 }] });
    for (const destination of [`${NODE}:30053`, '1.2.3.5:8000']) {
      expect(table.isStale(flowBetween(CLIENT, destination, '10.240.0.4:9090'))).toBe(true);
      expect(table.isStale(flowBetween(CLIENT, destination, destination))).toBe(false);
    }
  });

  test('one that exists again is judged by its endpoints', () => {
    const table = frontends(serving, { removed: [{ nodePort: 32_000 }, { ip: '1.2.3.4', port: 8000 }] });
    expect(table.isStale(flowBetween(CLIENT, '1.2.3.4:8000', '10.240.0.4:9090'))).toBe(false);
    expect(table.isStale(flowBetween(CLIENT, `${NODE}:32000`, '10.240.0.4:9090'))).toBe(false);
    expect(table.isStale(flowBetween(CLIENT, `${NODE}:32000`, `${NODE}:32000`))).toBe(true);
  });
});

test('a frontend of two ServicePorts accepts the endpoints of both', () => {
  const shared = { ip: '1.2.3.4', port: 53 };
  const table = new UdpFrontends({
    family: 'IPv4',
    servicePorts: [
      { frontends: [shared], servingEndpoints: [{ ip: '10.0.0.1', port: 53 }] },
      { frontends: [shared], servingEndpoints: [] },
      { frontends: [shared], servingEndpoints: [{ ip: '10.0.0.2', port: 53 }] },
    ],
  });
  expect(table.size).toBe(1);
  expect(table.isStale(flowBetween(CLIENT, '1.2.3.4:53', '10.0.0.1:53'))).toBe(false);
  expect(table.isStale(flowBetween(CLIENT, '1.2.3.4:53', '10.0.0.2:53'))).toBe(false);
  expect(table.isStale(flowBetween(CLIENT, '1.2.3.4:53', '10.0.0.3:53'))).toBe(true);
});

test("an address's frontend comes before a nodePort of the same number", () => {
  const table = new UdpFrontends({
    family: 'IPv4',
    servicePorts: [
      { frontends: [{ ip: '10.96.0.20', port: 31_000 }], servingEndpoints: [{ ip: '10.0.0.2', port: 53 }] },
      { frontends: [{ nodePort: 31_000 }], servingEndpoints: [{ ip: '10.0.0.1', port: 53 }] },
    ],
  });
  expect(table.isStale(flowBetween(CLIENT, '10.96.0.20:31000', '10.0.0.2:53'))).toBe(false);
  expect(table.isStale(flowBetween(CLIENT, '10.96.0.20:31000', '10.0.0.1:53'))).toBe(true);
});

test('with the node addresses known, a nodePort number elsewhere is somebody else’s', () => {
  const table = frontends(serving, { nodePortAddresses: [NODE, 'fd00::2'] });
  expect(table.isStale(flowBetween(CLIENT, `${NODE}:32000`, '10.240.1.5:9090'))).toBe(true);
  expect(table.isStale(flowBetween(CLIENT, '203.0.113.7:32000', '203.0.113.7:32000'))).toBe(false);
});

test('IPv6: addresses and endpoints of the other family are passed over', () => {
  const table = new UdpFrontends({
    family: 'IPv6',
    servicePorts: [
      {
        frontends: [{ ip: 'fd00::10', port: 53 }, { ip: '10.96.0.10', port: 53 }, { nodePort: 30_053 }],
        servingEndpoints: [
          { ip: 'fd01::1', port: 53 },
          { ip: '10.0.0.1', port: 53 },
        ],
      },
    ],
  });
  expect(table.size).toBe(2);
  const client = '[fd02::9]:999';
  expect(table.isStale(flowBetween(client, '[fd00::10]:53', '[fd01::1]:53'))).toBe(false);
  expect(table.isStale(flowBetween(client, '[fd00::10]:53', '[fd01::2]:53'))).toBe(true);
  expect(table.isStale(flowBetween(client, '[fd03::1]:30053', '[fd01::2]:53'))).toBe(true);
  expect(table.isStale(flowBetween('10.0.0.9:1', '10.96.0.10:53', '10.0.0.7:53'))).toBe(false);
});
