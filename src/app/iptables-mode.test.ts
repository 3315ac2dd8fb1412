import { beforeEach, expect, test, vi } from 'vitest';
import type { IpFamily } from '../base/ip.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { ProxyConfiguration } from '../config/proxy-configuration.ts';
import type { chooseIptables } from '../dataplane/iptables/choose-iptables.ts';
import { FakeIptables } from '../dataplane/iptables/testing/fake-iptables.ts';
import { IptablesError } from '../kernel/iptables/iptables-error.ts';
import { ProxyMetrics } from '../metrics/proxy-metrics.ts';
import { Registry } from '../metrics/registry.ts';
import { openIptablesMode } from './iptables-mode.ts';

const host = vi.hoisted(() => ({ installed: new Set<string>(), withoutNat: new Set<string>() }));

vi.mock('./packet-counters.ts', () => ({
  openPacketCounters: () => ({ ensure: async () => new Set(), close() {} }),
}));

vi.mock('../dataplane/iptables/choose-iptables.ts', () => ({
  chooseIptables: (async (family) => {
    const program = family === 'IPv4' ? 'iptables' : 'ip6tables';
    if (!host.installed.has(program)) {
      const detail = { code: 'IPTABLES_NOT_STARTED', program, reason: 'it is not installed' } as const;
      throw new IptablesError(detail, `cannot run ${program}: it is not installed`);
    }
    const iptables = new FakeIptables(family, 'legacy');
    iptables.isUsable = async () => !host.withoutNat.has(program);
    return { iptables, reason: 'a test', others: [], withLeftovers: [], mayHaveIpvsLeftovers: false };
  }) satisfies typeof chooseIptables,
}));

beforeEach(() => {
  host.installed = new Set(['iptables', 'ip6tables']);
  host.withoutNat = new Set();
});

async function open(families: readonly IpFamily[] = ['IPv4', 'IPv6']) {
  const lines: unknown[] = [];
  const logger: Logger = {
    ...silentLogger,
    with: () => logger,
    info: (message, values) => lines.push({ message, ...values }),
  };
  const read = () => '0';
  const mode = await openIptablesMode({ syncPeriod: 30_000 } as ProxyConfiguration, families, {
    clock: new FakeClock(),
    logger,
    sysctls: { read, write() {} },
    metrics: new ProxyMetrics(),
    registry: new Registry(),
    onForeignEdit() {},
    onSetAside() {},
  });
  mode.close();
  const missing = lines.filter((line) =>
    (line as { message: string }).message.startsWith('No iptables support'),
  );
  return { families: [...mode.proxiers.keys()], missing };
}

test('both families where both are there', async () => {
  expect(await open()).toEqual({ families: ['IPv4', 'IPv6'], missing: [] });
});

test('without ip6tables IPv4 alone is served, and the log says so (C122)', async () => {
  host.installed.delete('ip6tables');
  expect(await open()).toEqual({
    families: ['IPv4'],
    missing: [
      expect.objectContaining({ ipFamily: 'IPv6', reason: expect.stringContaining('cannot run ip6tables') }),
    ],
  });
});

test('a family whose table nat is missing is left out, the first one too (C122)', async () => {
  host.withoutNat.add('iptables');
  expect(await open()).toEqual({
    families: ['IPv6'],
    missing: [expect.objectContaining({ ipFamily: 'IPv4', reason: expect.stringContaining('no table nat') })],
  });
});

test('none at all is an error (C122)', async () => {
  host.installed.clear();
  await expect(open()).rejects.toMatchObject({ code: 'APP_FAMILY_NOT_SUPPORTED' });
});
