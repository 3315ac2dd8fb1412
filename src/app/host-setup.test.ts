import { expect, test } from 'vitest';
import { type Logger, silentLogger } from '../base/logger.ts';
import { ConntrackConnection } from '../kernel/conntrack/conntrack-connection.ts';
import { EOPNOTSUPP } from '../kernel/native/errno.ts';
import { NetlinkConnection } from '../kernel/netlink/netlink-connection.ts';
import { FakeNetlinkSocket } from '../kernel/netlink/testing/fake-netlink-socket.ts';
import type { Sysctls } from '../kernel/sysctl/sysctl.ts';
import { applyConntrackSettings, enableRouteLocalnet, loadConntrack } from './host-setup.ts';

const config = {
  maxPerCore: 0,
  min: 0,
  tcpEstablishedTimeout: 86_400_000,
  tcpCloseWaitTimeout: 3_600_000,
  tcpBeLiberal: false,
  udpTimeout: 0,
  udpStreamTimeout: 0,
};

function fake(values: Record<string, string>, readOnly = false) {
  const written: [string, string][] = [];
  const sysctls: Sysctls = {
    read(path) {
      const value = values[path];
      if (value === undefined) throw new Error(`no ${path}`);
      return value;
    },
    write(path, value) {
      if (readOnly) throw new Error('EROFS');
      written.push([path, value]);
    },
  };
  return { sysctls, written };
}

const ESTABLISHED = '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established';
const CLOSE_WAIT = '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait';

test('only what differs is written', () => {
  const { sysctls, written } = fake({ [ESTABLISHED]: '86400', [CLOSE_WAIT]: '60' });
  applyConntrackSettings(config, sysctls, silentLogger);
  expect(written).toEqual([[CLOSE_WAIT, '3600']]);
});

test('the hash table grows with the limit, and is never made smaller', () => {
  const scaled = { ...config, maxPerCore: 1, min: 4000, tcpEstablishedTimeout: 0, tcpCloseWaitTimeout: 0 };
  const small = fake({ '/sys/module/nf_conntrack/parameters/hashsize': '999' });
  applyConntrackSettings(scaled, small.sysctls, silentLogger);
  expect(small.written).toEqual([
    ['/proc/sys/net/netfilter/nf_conntrack_max', '4000'],
    ['/sys/module/nf_conntrack/parameters/hashsize', '1000'],
  ]);
  const large = fake({ '/sys/module/nf_conntrack/parameters/hashsize': '1000' });
  applyConntrackSettings(scaled, large.sysctls, silentLogger);
  expect(large.written).toHaveLength(1);
});

test('what cannot be written but is right already is none of our business', () => {
  const { sysctls } = fake({ [ESTABLISHED]: '86400', [CLOSE_WAIT]: '3600' }, true);
  expect(applyConntrackSettings(config, sysctls, silentLogger)).toEqual([]);
});

test('what is not permitted is a warning that names it', () => {
  const warnings: unknown[] = [];
  const logger: Logger = { ...silentLogger, warn: (_message, values) => warnings.push(values?.['path']) };
  expect(applyConntrackSettings(config, fake({}, true).sysctls, logger)).toEqual([ESTABLISHED, CLOSE_WAIT]);
  const localhost = '/proc/sys/net/ipv4/conf/all/route_localnet';
  expect(enableRouteLocalnet(fake({}, true).sysctls, logger)).toEqual([localhost]);
  expect(warnings).toEqual([ESTABLISHED, CLOSE_WAIT, localhost]);
});

test('connection tracking is asked for something, so that its module is there; a kernel without is no error', () => {
  const socket = new FakeNetlinkSocket();
  loadConntrack(() => new ConntrackConnection(new NetlinkConnection(socket)));
  const type = socket.sent[0]?.readUInt16LE(4) ?? 0;
  expect(type >> 8).toBe(1); // NFNL_SUBSYS_CTNETLINK
  expect(socket.closed).toBe(true);
  const without = new FakeNetlinkSocket(() => ({ errno: EOPNOTSUPP }));
  loadConntrack(() => new ConntrackConnection(new NetlinkConnection(without)));
  expect(without.closed).toBe(true);
});
