import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { NodeBed } from './node-bed.ts';
import { node } from './objects.ts';
import type { ProxyProcess } from './proxy-process.ts';
import { shop, WEB, WEB_NODE_PORT } from './shop.ts';
import { delay, waitUntil } from './wait-until.ts';

// C122: kernel or host lack one IP family, while Services are dual-stack.

let bed: NodeBed;
beforeEach(() => bed.reset());

/** A node for the tests of one block: what they switch off does not come back as it was. */
function withOwnNode(): void {
  beforeAll(async () => {
    bed = await NodeBed.create();
  });
  afterAll(() => bed.close());
}

const WEB6 = 'fd00:10:96::10';
const IPV4 = '172.31.0.11';
const IPV6 = 'fd00:31::11';

/** Dual-stack Services on a Node with these addresses. */
const shopOn = (...addresses: readonly string[]) => [
  ...shop().filter(({ kind }) => kind !== 'Node'),
  node({ addresses }),
];

async function servesOnly(proxy: ProxyProcess, served: 'IPv4' | 'IPv6'): Promise<void> {
  const addresses = { IPv4: `${WEB}:80`, IPv6: `[${WEB6}]:80` };
  await bed.answersSoon(proxy, addresses[served]);
  expect(await bed.answers(addresses[served === 'IPv4' ? 'IPv6' : 'IPv4'])).toBe(false);
  // The first sync has ended by then, its effects may follow.
  const sample = `kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="${served}"}`;
  await waitUntil('the sync is counted', async () => (await bed.metric(sample)) > 0);
  expect(await bed.page(10256, '/healthz')).toMatchObject({ status: 200, body: { healthy: true } });
  const { body } = (await bed.page(10256, '/healthz'))!;
  expect(Object.keys((body as { status: object }).status)).toEqual([served]);
  expect(String((await bed.page(10249, '/metrics'))?.body)).not.toMatch(/_failures_total\{.*\} [^0]/);
  expect(proxy.lines(/^[EF]/)).toEqual([]);
}

async function endsBecauseOf(proxy: ProxyProcess, family: 'IPv4' | 'IPv6'): Promise<void> {
  expect(await Promise.race([proxy.exited, delay(15_000)]), proxy.log).toEqual({ code: 1, signal: null });
  expect(proxy.lines(/^E/)).toEqual([expect.stringContaining(`the primary family of its node, ${family}`)]);
}

describe.each(['nftables', 'iptables'] as const)('IPv6 switched off in the kernel, mode %s', (mode) => {
  withOwnNode();
  beforeAll(async () => {
    await bed.run(['sysctl', '-qw', 'net.ipv6.conf.all.disable_ipv6=1']);
  });

  test('IPv4 is served, and the log says what is missing', async () => {
    await bed.api.apply(...shopOn(IPV4));
    const proxy = bed.start(mode);
    await servesOnly(proxy, 'IPv4');
    expect(await bed.answers(`${IPV4}:${WEB_NODE_PORT}`)).toBe(true);
    expect(proxy.lines(/^I.*No IPv6 support/)).toHaveLength(1);
    expect(await bed.run(['nft', 'list', 'ruleset'])).not.toContain('table ip6');
  });

  test('a Node whose first address is IPv6 ends the start', async () => {
    await bed.api.apply(...shopOn(IPV6, IPV4));
    await endsBecauseOf(bed.start(mode), 'IPv6');
    expect(await bed.run(['nft', 'list', 'ruleset'])).toBe('');
  });
});

describe('iptables mode without the programs of one family', () => {
  withOwnNode();

  /** An environment with just the programs that are needed, and the iptables of these names. */
  function environment(...commands: readonly string[]): NodeJS.ProcessEnv {
    const all = bed.environment('nft');
    const directories = all['PATH']!.split(':');
    const only = join(bed.directory, 'bin-only');
    rmSync(only, { recursive: true, force: true });
    mkdirSync(only);
    const iptables = commands.flatMap((command) =>
      ['', '-save', '-restore'].map((suffix) => `${command}${suffix}`),
    );
    for (const program of ['sh', 'ip', 'dirname', 'basename', 'readlink', ...iptables]) {
      const home = directories.find((directory) => existsSync(join(directory, program)));
      symlinkSync(join(home!, program), join(only, program));
    }
    return { ...all, PATH: only };
  }

  test('no ip6tables: IPv4 is served, and the log says what is missing', async () => {
    await bed.api.apply(...shopOn(IPV4, IPV6));
    const proxy = bed.start('iptables', { env: environment('iptables') });
    await servesOnly(proxy, 'IPv4');
    expect(await bed.answers(`${IPV4}:${WEB_NODE_PORT}`)).toBe(true);
    expect(proxy.lines(/^I.*No iptables support.*ipFamily="IPv6"/)).toHaveLength(1);
  });

  test('no ip6tables on a Node whose first address is IPv6: the start ends', async () => {
    await bed.api.apply(...shopOn(IPV6, IPV4));
    await endsBecauseOf(bed.start('iptables', { env: environment('iptables') }), 'IPv6');
  });

  test('no iptables on a Node whose first address is IPv6: IPv6 is served', async () => {
    await bed.api.apply(...shopOn(IPV6, IPV4));
    const proxy = bed.start('iptables', { env: environment('ip6tables') });
    await servesOnly(proxy, 'IPv6');
    expect(proxy.lines(/^I.*No iptables support.*ipFamily="IPv4"/)).toHaveLength(1);
  });

  test('no iptables on a Node whose first address is IPv4: the start ends', async () => {
    await bed.api.apply(...shopOn(IPV4, IPV6));
    await endsBecauseOf(bed.start('iptables', { env: environment('ip6tables') }), 'IPv4');
  });

  test('neither: the start ends', async () => {
    await bed.api.apply(...shopOn(IPV4, IPV6));
    const proxy = bed.start('iptables', { env: environment() });
    expect(await Promise.race([proxy.exited, delay(15_000)])).toEqual({ code: 1, signal: null });
    expect(proxy.lines(/^E/)).toEqual([expect.stringContaining('iptables is not available on this host')]);
  });
});
