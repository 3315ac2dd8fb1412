import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { removeStaleNamespaces } from './namespace-names.ts';
import { Testbed } from './testbed.ts';
import type { Topology } from './topology.ts';

/** Two hosts on one cable. */
const CABLE: Topology = {
  serviceCIDRs: [],
  nodes: {},
  namespaces: ['left', 'right'],
  sysctls: { all: { 'net.ipv4.icmp_ratelimit': 0 }, left: { 'net.ipv4.ip_forward': 1 } },
  bridges: [],
  links: [
    {
      a: { ns: 'left', dev: 'eth0', addresses: ['192.0.2.1/24', '2001:db8::1/64'] },
      b: { ns: 'right', dev: 'eth0', addresses: ['192.0.2.2/24', '2001:db8::2/64'] },
    },
  ],
  loopbackAddresses: [],
  routes: [{ ns: 'left', to: 'default', via: '192.0.2.2', dev: 'eth0' }],
  sources: {
    left: { ns: 'left', ipv4: '192.0.2.1', ipv6: '2001:db8::1' },
    any: { ns: 'left', ipv4: null, ipv6: null },
  },
  servers: { addresses: ['192.0.2.2', '2001:db8::2'], ports: [8080], extra: [] },
};

async function withBed(use: (bed: Testbed) => Promise<void>): Promise<void> {
  const bed = await Testbed.create(CABLE);
  try {
    await use(bed);
  } finally {
    await bed.close();
  }
}

test('requests over TCP, UDP and HTTP tell server, client and own address', async () => {
  await withBed(async (bed) => {
    for (const proto of ['tcp', 'udp'] as const) {
      for (const from of ['left', 'any']) {
        const [v4] = await bed.probe({ from, to: '192.0.2.2:8080', proto });
        expect(v4).toEqual({
          server: '192.0.2.2:8080',
          client: expect.stringMatching(/^192\.0\.2\.1:/),
          local: '192.0.2.1',
        });
        const [v6] = await bed.probe({ from, to: '[2001:db8::2]:8080', proto });
        expect(v6).toEqual({
          server: '[2001:db8::2]:8080',
          client: expect.stringMatching(/^\[2001:db8::1\]:/),
          local: '2001:db8::1',
        });
      }
      expect(await bed.probe({ from: 'left', to: '192.0.2.2:9', proto })).toEqual([{ failure: 'refused' }]);
    }
    const [answer] = await bed.probe({ from: 'left', to: '192.0.2.2:8080', proto: 'http' });
    expect(answer).toMatchObject({ status: 200, body: { server: '192.0.2.2:8080' } });
  });
});

test('source ports are used once, except those of labelled connections', async () => {
  await withBed(async (bed) => {
    const clients = async (count: number, connection?: string): Promise<string[]> => {
      const label = connection === undefined ? {} : { connection };
      const outcomes = await bed.probe({ from: 'left', to: '192.0.2.2:8080', count, ...label });
      return outcomes.map((outcome) => ('client' in outcome ? outcome.client : JSON.stringify(outcome)));
    };
    const labelled = await clients(2, 'x');
    expect(new Set(labelled).size).toBe(1);
    const fresh = [...(await clients(30)), ...(await clients(30))];
    expect(new Set([...fresh, ...labelled]).size).toBe(61);
    expect(await clients(1, 'x')).toEqual(labelled.slice(1));
  });
});

test('filters: what is dropped ends as timeout, also where the socket says EPERM; sysctls are set', async () => {
  await withBed(async (bed) => {
    await bed.run(
      'left',
      ['nft', '-f', '-'],
      'table ip t { chain c { type filter hook output priority 0; udp dport 8080 drop; tcp dport 8080 reject with tcp reset; }; }',
    );
    const begin = performance.now();
    expect(await bed.probe({ from: 'left', to: '192.0.2.2:8080', proto: 'udp' })).toEqual([
      { failure: 'timeout' },
    ]);
    expect(performance.now() - begin).toBeGreaterThan(1290);
    expect(await bed.probe({ from: 'left', to: '192.0.2.2:8080' })).toEqual([{ failure: 'refused' }]);
    expect(await bed.agent('left').readFile('/proc/sys/net/ipv4/ip_forward')).toBe('1\n');
    expect(await bed.agent('right').readFile('/proc/sys/net/ipv4/ip_forward')).toBe('0\n');
  });
});

test('flushing conntrack forgets connections', async () => {
  await withBed(async (bed) => {
    await bed.run(
      'left',
      ['nft', '-f', '-'],
      'table ip t { chain c { type filter hook output priority 0; ct state new accept; }; }',
    );
    const entries = async (): Promise<number> =>
      Number(await bed.agent('left').readFile('/proc/sys/net/netfilter/nf_conntrack_count'));
    await bed.probe({ from: 'left', to: '192.0.2.2:8080', proto: 'udp', count: 5 });
    expect(await entries()).toBe(5);
    await bed.agent('left').flushConntrack();
    expect(await entries()).toBe(0);
  });
});

test('a test bed whose process was killed is removed by the next one', async () => {
  const script = `
    import { Testbed } from ${JSON.stringify(new URL('./testbed.ts', import.meta.url).href)};
    const bed = await Testbed.create(${JSON.stringify(CABLE)});
    console.log(bed.fullName('left'));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const name = line.toString().trim();
  expect(readdirSync('/run/netns')).toContain(name);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await removeStaleNamespaces()).toContain(name);
  expect(readdirSync('/run/netns')).not.toContain(name);
});
