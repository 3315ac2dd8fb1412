import { describe, expect, test } from 'vitest';
import { flowBetween } from '../../kernel/conntrack/testing/flow-view.ts';
import { FlowFrontends, type FlowFrontendsInput } from './flow-frontends.ts';

const UDP = 17;
const TCP = 6;
const SCTP = 132;
const CLIENT = '10.0.0.9:1234';
const serviceIPs = ['172.30.1.1', '192.168.99.100', '1.2.3.4'];

function frontends(
  endpoints: { ip: string; port: number }[],
  more: Partial<FlowFrontendsInput> = {},
): FlowFrontends {
  return new FlowFrontends({
    family: 'IPv4',
    servicePorts: [
      {
        protocol: 'UDP',
        frontends: [...serviceIPs.map((ip) => ({ ip, port: 8000 })), { nodePort: 32_000 }],
        endpoints,
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

  test.each([TCP, SCTP])('protocol %i is another one’s', (protocol) => {
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
    const table = frontends(serving, {
      removed: [{ protocol: 'UDP', frontends: [{ nodePort: 30_053 }, { ip: '1.2.3.5', port: 8000 }] }],
    });
    for (const destination of [`${NODE}:30053`, '1.2.3.5:8000']) {
      expect(table.isStale(flowBetween(CLIENT, destination, '10.240.0.4:9090'))).toBe(true);
      expect(table.isStale(flowBetween(CLIENT, destination, destination))).toBe(false);
    }
  });

  test('one that exists again is judged by its endpoints', () => {
    const table = frontends(serving, {
      removed: [{ protocol: 'UDP', frontends: [{ nodePort: 32_000 }, { ip: '1.2.3.4', port: 8000 }] }],
    });
    expect(table.isStale(flowBetween(CLIENT, '1.2.3.4:8000', '10.240.0.4:9090'))).toBe(false);
    expect(table.isStale(flowBetween(CLIENT, `${NODE}:32000`, '10.240.0.4:9090'))).toBe(false);
    expect(table.isStale(flowBetween(CLIENT, `${NODE}:32000`, `${NODE}:32000`))).toBe(true);
  });
});

test('a frontend of two ServicePorts accepts the endpoints of both', () => {
  const shared = { ip: '1.2.3.4', port: 53 };
  const table = new FlowFrontends({
    family: 'IPv4',
    servicePorts: [
      { protocol: 'UDP', frontends: [shared], endpoints: [{ ip: '10.0.0.1', port: 53 }] },
      { protocol: 'UDP', frontends: [shared], endpoints: [] },
      { protocol: 'UDP', frontends: [shared], endpoints: [{ ip: '10.0.0.2', port: 53 }] },
    ],
  });
  expect(table.size).toBe(1);
  expect(table.isStale(flowBetween(CLIENT, '1.2.3.4:53', '10.0.0.1:53'))).toBe(false);
  expect(table.isStale(flowBetween(CLIENT, '1.2.3.4:53', '10.0.0.2:53'))).toBe(false);
  expect(table.isStale(flowBetween(CLIENT, '1.2.3.4:53', '10.0.0.3:53'))).toBe(true);
});

test("an address's frontend comes before a nodePort of the same number", () => {
  const table = new FlowFrontends({
    family: 'IPv4',
    servicePorts: [
      {
        protocol: 'UDP',
        frontends: [{ ip: '10.96.0.20', port: 31_000 }],
        endpoints: [{ ip: '10.0.0.2', port: 53 }],
      },
      { protocol: 'UDP', frontends: [{ nodePort: 31_000 }], endpoints: [{ ip: '10.0.0.1', port: 53 }] },
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
  const table = new FlowFrontends({
    family: 'IPv6',
    servicePorts: [
      {
        protocol: 'UDP',
        frontends: [{ ip: 'fd00::10', port: 53 }, { ip: '10.96.0.10', port: 53 }, { nodePort: 30_053 }],
        endpoints: [
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

test('where node ports are on all addresses, an untranslated flow counts to those that are known as local', () => {
  const table = frontends(serving, { localAddresses: [NODE, 'fd00::2'] });
  expect(table.isStale(flowBetween(CLIENT, `${NODE}:32000`, `${NODE}:32000`))).toBe(true);
  expect(table.isStale(flowBetween(CLIENT, '203.0.113.7:32000', '203.0.113.7:32000'))).toBe(false);
  expect(table.isStale(flowBetween(CLIENT, '203.0.113.7:32000', '10.240.1.5:9090'))).toBe(true);
});

describe.each([
  ['TCP', TCP, { opening: 1, established: 3, other: [2, 4, 5, 7, 8, 9] }],
  ['SCTP', SCTP, { opening: 1, established: 4, other: [3, 5, 6, 7, 8, 9] }],
] as const)('%s', (protocol, number, states) => {
  const SEEN_REPLY = 2;
  const table = new FlowFrontends({
    family: 'IPv4',
    servicePorts: [
      {
        protocol,
        frontends: [{ ip: '172.30.1.1', port: 80 }, { nodePort: 32_000 }],
        endpoints: serving,
      },
      { protocol, frontends: [{ ip: '172.30.1.2', port: 80 }], endpoints: [] },
    ],
    removed: [{ protocol, frontends: [{ ip: '172.30.1.3', port: 80 }] }],
    nodePortAddresses: [NODE],
  });
  const isStale = (destination: string, replySource: string, connectionState: number, status = 0) =>
    table.isStale(flowBetween(CLIENT, destination, replySource, number, { connectionState, status }));

  test('unanswered flows that were not translated are stale where there is an endpoint (C18)', () => {
    for (const destination of ['172.30.1.1:80', `${NODE}:32000`])
      expect(isStale(destination, destination, states.opening)).toBe(true);
    for (const destination of ['172.30.1.1:81', '172.30.1.2:80', '172.30.1.3:80', '192.0.2.1:32000'])
      expect(isStale(destination, destination, states.opening)).toBe(false);
  });

  test('unanswered flows to an endpoint or a frontend that is gone are stale (C17)', () => {
    expect(isStale('172.30.1.1:80', '10.240.0.4:9090', states.opening)).toBe(false);
    for (const destination of ['172.30.1.1:80', '172.30.1.2:80', '172.30.1.3:80', `${NODE}:32000`])
      expect(isStale(destination, '10.240.1.5:9090', states.opening)).toBe(true);
  });

  test('whatever was answered, or begun before tracking, is never touched (C19)', () => {
    for (const destination of ['172.30.1.1:80', '172.30.1.3:80', `${NODE}:32000`]) {
      expect(isStale(destination, '10.240.1.5:9090', states.opening, SEEN_REPLY)).toBe(false);
      expect(isStale(destination, '10.240.1.5:9090', states.established, SEEN_REPLY)).toBe(false);
      for (const state of [0, states.established, ...states.other])
        expect(isStale(destination, '10.240.1.5:9090', state)).toBe(false);
    }
  });

  test('the kernel is asked for these alone', () => {
    expect(table.query).toEqual({ family: 'IPv4', protocol: number, status: { value: 0, mask: SEEN_REPLY } });
  });
});

test('the same address and port of each protocol is a frontend of its own', () => {
  const frontend = { ip: '172.30.1.1', port: 53 };
  const of = (protocol: 'TCP' | 'UDP' | 'SCTP', ip: string) => ({
    protocol,
    frontends: [frontend],
    endpoints: [{ ip, port: 53 }],
  });
  const table = new FlowFrontends({
    family: 'IPv4',
    servicePorts: [of('TCP', '10.240.0.1'), of('SCTP', '10.240.0.2')],
  });
  expect(table.size).toBe(2);
  expect(table.query).toEqual({ family: 'IPv4', status: { value: 0, mask: 2 } });
  const isStale = (protocol: number, connectionState: number, to: string) =>
    table.isStale(flowBetween(CLIENT, '172.30.1.1:53', to, protocol, { connectionState }));
  expect(isStale(TCP, 1, '10.240.0.1:53')).toBe(false);
  expect(isStale(TCP, 1, '10.240.0.2:53')).toBe(true);
  expect(isStale(SCTP, 2, '10.240.0.1:53')).toBe(true);
  expect(isStale(SCTP, 2, '10.240.0.2:53')).toBe(false);
  expect(isStale(UDP, 0, '10.240.0.9:53')).toBe(false);
});
