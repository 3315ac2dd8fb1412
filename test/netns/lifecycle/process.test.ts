import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { iptablesLines } from './iptables-lines.ts';
import { NodeBed } from './node-bed.ts';
import { service, slice } from './objects.ts';
import { KUBE_PROXY } from './proxy-process.ts';
import { shop, WEB, WEB_NODE_PORT } from './shop.ts';
import { delay, waitUntil } from './wait-until.ts';

let bed: NodeBed;
beforeAll(async () => {
  bed = await NodeBed.create();
});
afterAll(() => bed.close());
beforeEach(() => bed.reset());

describe.each(['nftables', 'iptables'] as const)('%s', (mode) => {
  test.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)('%s ends it soon, rules stay', async (signal) => {
    await bed.api.apply(...shop());
    const proxy = bed.start(mode);
    await bed.synced(proxy);
    const before = await rules();
    const { code, signal: endedBy, milliseconds } = await proxy.end(signal);
    expect({ code, endedBy }).toEqual(
      signal === 'SIGKILL' ? { code: null, endedBy: 'SIGKILL' } : { code: 0, endedBy: null },
    );
    expect(milliseconds, proxy.log).toBeLessThan(5000);
    expect(await rules()).toBe(before);
    expect(await bed.answers(`${WEB}:80`)).toBe(true);
    expect(await bed.answers(`172.31.0.11:${WEB_NODE_PORT}`)).toBe(true);
  });
});

test('SIGTERM ends it soon while it waits for a server that does not answer', async () => {
  await bed.api.control('POST /faults', { times: 0, action: { kind: 'hang' } });
  const proxy = bed.start('nftables');
  await delay(1500);
  expect(await proxy.end()).toMatchObject({ code: 0 });
  const again = bed.start('nftables');
  await delay(1500);
  expect((await again.end()).milliseconds).toBeLessThan(5000);
});

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s ends it as process 1 of a container',
  async (signal) => {
    await bed.api.apply(...shop());
    const proxy = bed.start('nftables', {
      program: 'unshare',
      before: ['--pid', '--fork', '--kill-child', '--mount-proc', KUBE_PROXY],
    });
    await bed.synced(proxy);
    const [first] = readFileSync(`/proc/${proxy.pid}/task/${proxy.pid}/children`, 'utf8').trim().split(' ');
    process.kill(Number(first), signal);
    expect(await Promise.race([proxy.exited, delay(10_000)])).toEqual({ code: 0, signal: null });
    expect(await bed.answers(`${WEB}:80`)).toBe(true);
  },
);

test('SIGUSR1 opens no debugger on the node', async () => {
  await bed.api.apply(...shop());
  const proxy = bed.start('nftables');
  await bed.synced(proxy);
  const listening = async () =>
    (await bed.run(['ss', '-ltnpH'])).split('\n').filter((line) => line.includes(`pid=${proxy.pid},`));
  expect(await listening()).toHaveLength(2);
  process.kill(proxy.pid, 'SIGUSR1');
  await bed.api.apply(service('later', '10.96.0.70'), slice('later', ['10.244.1.2']));
  await bed.answersSoon(proxy, '10.96.0.70:80');
  await delay(1000);
  expect(await listening()).toHaveLength(2);
  expect(proxy.log).not.toContain('Debugger');
});

test('nothing is written before Services and slices are known; a node that serves goes on serving', async () => {
  await bed.api.apply(...shop());
  const first = bed.start('nftables');
  await bed.synced(first);
  await first.end();
  const before = await rules();
  await bed.api.control('POST /faults', {
    on: { resource: 'endpointslices' },
    times: 0,
    action: { kind: 'hang' },
  });
  const second = bed.start('nftables');
  await delay(3000);
  expect(second.exit).toBeUndefined();
  expect(await rules()).toBe(before);
  expect(await bed.answers(`${WEB}:80`)).toBe(true);
});

test('a lock that somebody holds for long delays the start in iptables mode, and no more', async () => {
  await bed.api.apply(...shop());
  const env = bed.environment('legacy');
  const holder = spawn('flock', [bed.lockFile, 'sleep', '9'], { stdio: 'ignore' });
  await delay(200);
  const proxy = bed.start('iptables', { env });
  await bed.synced(proxy, 30_000);
  expect(proxy.log).toMatch(/Still waiting to look at the iptables rules[\s\S]*xtables lock/);
  expect(await bed.answers(`${WEB}:80`)).toBe(true);
  if (holder.exitCode === null) await once(holder, 'exit');
});

describe.each(['nftables', 'iptables'] as const)(
  'kernel settings that cannot be written, mode %s (C121)',
  (mode) => {
    const settings = '/proc/sys/net/netfilter';
    const readOnly = ['mount --bind /proc/sys /proc/sys', 'mount -o remount,ro,bind /proc/sys'];
    const read = async (name: string) => (await bed.run(['cat', `${settings}/${name}`])).trim();
    const write = (name: string, value: number) =>
      bed.run(['sh', '-c', `echo ${value} > ${settings}/nf_conntrack_${name}`]);
    /** One each: higher than now, lower than now, as now, left alone. */
    const conntrack = {
      maxPerCore: 0,
      tcpCloseWaitTimeout: '1h',
      udpTimeout: '10s',
      udpStreamTimeout: '120s',
      tcpEstablishedTimeout: '0s',
    };
    const refused = ['nf_conntrack_tcp_timeout_close_wait', 'nf_conntrack_udp_timeout'];
    beforeEach(async () => {
      await write('tcp_timeout_close_wait', 60);
      await write('udp_timeout', 30);
      await write('udp_timeout_stream', 120);
      // In iptables mode the loopback setting would be one more.
      await bed.run(['sysctl', '-qw', 'net.ipv4.conf.all.route_localnet=1']);
    });

    test('are warnings and an event, and everything is served', async () => {
      const policy = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 32_100 };
      const local = service('local', '10.96.0.62', { nodePort: 32_101, spec: policy });
      await bed.api.apply(...shop(), local, slice('local', ['10.244.1.2']));
      const proxy = bed.start(mode, { prepare: readOnly, config: { conntrack } });
      await bed.synced(proxy);
      const warnings = proxy.lines(/^W.*kernel setting stays as it is/);
      expect(warnings).toHaveLength(refused.length);
      for (const [index, name] of refused.entries())
        expect(warnings[index]).toContain(`path="${settings}/${name}"`);
      expect(proxy.lines(/^[EF]/)).toEqual([]);
      await waitUntil('two events', async () => (await bed.api.events()).length === 2);
      const [event, starting] = await bed.api.events();
      expect(event).toMatchObject({ type: 'Warning', reason: 'KernelSettingsRefused' });
      for (const name of refused) expect(event?.['note']).toContain(`${settings}/${name}`);
      expect(starting).toMatchObject({ type: 'Normal', reason: 'Starting' });

      expect(await Promise.all(refused.map(read))).toEqual(['60', '30']);
      expect(await bed.page(10256, '/healthz')).toMatchObject({ status: 200 });
      const port = { from: 'client', to: '172.31.0.11:32100', proto: 'http', path: '/' } as const;
      const check = { ...port, timeoutMilliseconds: 10_000 };
      await waitUntil('the health check port answers', async () => 'status' in (await bed.probe(check)));
      expect(await bed.probe(check)).toMatchObject({ status: 200 });
      for (const to of [`${WEB}:80`, `172.31.0.11:${WEB_NODE_PORT}`])
        expect(await bed.answers(to)).toBe(true);
    });

    test('make --init-only fail', async () => {
      await bed.api.apply(...shop());
      const proxy = bed.start(mode, { prepare: readOnly, config: { conntrack }, flags: ['--init-only'] });
      expect(await Promise.race([proxy.exited, delay(15_000)])).toEqual({ code: 1, signal: null });
      expect(proxy.lines(/^E/)).toEqual([expect.stringContaining('APP_HOST_SETUP_INCOMPLETE')]);
    });
  },
);

describe.each([
  ['healthz', 10256, 'FailedToStartProxierHealthcheck'],
  ['metrics', 10249, 'FailedToStartMetricServer'],
] as const)('an address for %s that is in use', (server, port, reason) => {
  /** Another program on the node that has the port. */
  async function occupied<Result>(work: (free: () => Promise<void>) => Promise<Result>): Promise<Result> {
    const script = `require('net').createServer().listen(${port}, '0.0.0.0', () => console.log('listening'))`;
    const holder = spawn('ip', ['netns', 'exec', bed.node, process.execPath, '-e', script]);
    const ended = once(holder, 'exit');
    const free = async () => {
      holder.kill('SIGKILL');
      await ended;
    };
    try {
      await once(holder.stdout, 'data');
      return await work(free);
    } finally {
      await free();
    }
  }

  test('is waited for, Services are served meanwhile', () =>
    occupied(async (free) => {
      await bed.api.apply(...shop());
      const proxy = bed.start('nftables');
      await bed.answersSoon(proxy, `${WEB}:80`);
      expect(proxy.lines(/^E/)[0]).toMatch(new RegExp(`Cannot serve, will try again.*server="${server}"`));
      await free();
      await waitUntil('it answers', async () => (await bed.page(port, '/healthz'))?.status === 200, 30_000);
    }));

  test('ends the start where bindAddressHardFail is set, and an event says why', () =>
    occupied(async () => {
      await bed.api.apply(...shop());
      const proxy = bed.start('nftables', { config: { bindAddressHardFail: true } });
      expect(await Promise.race([proxy.exited, delay(15_000)])).toEqual({ code: 1, signal: null });
      expect(proxy.lines(/^E.*address already in use/).length).toBeGreaterThan(0);
      const events = (await bed.api.events()).filter((event) => event.reason !== 'KernelSettingsRefused');
      expect(events).toMatchObject([{ type: 'Warning', reason, note: expect.stringContaining(`:${port}`) }]);
      expect(await bed.run(['nft', 'list', 'ruleset'])).toBe('');
    }));
});

test.each([
  ['on', 'true'],
  ['off', ''],
])('feature gate WatchListClient %s: everything is read by watches, or by lists', async (gate, initial) => {
  await bed.api.apply(...shop());
  const proxy = bed.start('nftables', { config: { featureGates: { WatchListClient: gate === 'on' } } });
  await bed.synced(proxy);
  const requests = await bed.api.requests();
  const verbs = new Set(requests.filter(({ resource }) => resource === 'services').map(({ verb }) => verb));
  expect(verbs).toEqual(new Set(initial === '' ? ['list', 'watch'] : ['watch']));
});

describe('ends at once', () => {
  test('--version', async () => {
    const proxy = bed.startRaw(['--version']);
    expect(await proxy.exited).toEqual({ code: 0, signal: null });
    expect(proxy.stdout).toBe('Kubernetes v1.36.2\n');
  });

  test('--init-only sets the sysctls and leaves no rules', async () => {
    await bed.api.apply(...shop());
    const timeout = '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_close_wait';
    await bed.run(['sh', '-c', `echo 60 > ${timeout}`]);
    const proxy = bed.start('nftables', {
      flags: ['--init-only'],
      config: { conntrack: { maxPerCore: 0, tcpCloseWaitTimeout: '1h' } },
    });
    expect(await Promise.race([proxy.exited, delay(10_000)]), proxy.log).toEqual({ code: 0, signal: null });
    expect((await bed.run(['cat', timeout])).trim()).toBe('3600');
    expect(await bed.run(['nft', 'list', 'ruleset'])).toBe('');
  });

  test.each([
    ['nosuchmode', /mode/],
    ['ipvs', /ipvs/],
    ['userspace', /userspace/],
  ])('mode %s: status 1 and an error that says why', async (mode, reason) => {
    await bed.api.apply(...shop());
    const proxy = bed.start(mode);
    expect(await Promise.race([proxy.exited, delay(5000)])).toEqual({ code: 1, signal: null });
    const errors = proxy.lines(/^E/);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(reason);
    expect(await bed.run(['nft', 'list', 'ruleset'])).toBe('');
  });

  test.each(['nftables', 'iptables'])(
    'without CAP_NET_ADMIN, mode %s: status 1 and what is missing',
    async (mode) => {
      await bed.api.apply(...shop());
      const proxy = bed.start(mode, {
        program: 'setpriv',
        before: ['--bounding-set=-all', '--inh-caps=-all', KUBE_PROXY],
      });
      expect(await Promise.race([proxy.exited, delay(5000)])).toEqual({ code: 1, signal: null });
      expect(proxy.lines(/./)).toEqual([expect.stringMatching(/^E.*lacks CAP_NET_ADMIN/)]);
    },
  );

  test('no configuration file, no kubeconfig, no service account: status 1 and one error line', async () => {
    const { KUBERNETES_SERVICE_HOST: _, ...env } = process.env;
    const proxy = bed.startRaw(['--proxy-mode=nftables', '--hostname-override=node1'], { env });
    expect(await Promise.race([proxy.exited, delay(5000)])).toEqual({ code: 1, signal: null });
    expect(proxy.lines(/^E/)).toHaveLength(1);
  });
});

/** All rules, without the tables that are there only as long as a process runs. */
async function rules(): Promise<string> {
  const ruleset = await bed.run(['nft', '-s', 'list', 'ruleset']);
  const nft = ruleset
    .split(/^(?=table )/m)
    .filter((table) => !/^table ip6? fairlead-hold-/.test(table))
    .join('');
  const expiring = /\n\s*elements = \{[^}]*\bexpires\b[^}]*\}/g;
  return `${nft.replace(expiring, '')}\n${(await iptablesLines(bed, 'nft')).join('\n')}`;
}
