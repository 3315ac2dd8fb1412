import { describe, expect, test } from 'vitest';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { LogOutput } from '../logging/log-output.ts';
import { createStandardLogger } from '../logging/standard-logger.ts';
import type { CommandLineIO } from './command-line-io.ts';
import type { Invocation } from './invocation.ts';
import { type Commands, runCommandLine } from './run-command-line.ts';

const head = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';

interface World {
  files?: Record<string, string>;
  hostname?: string;
  /** Why no file can be watched. */
  watchError?: Error;
  commands?: Partial<Commands>;
}

/** Runs a command line in a made-up world and returns everything that came of it. */
async function run(argv: string[], world: World = {}) {
  const files: Record<string, string> = { ...world.files };
  const streams = { 1: '', 2: '' };
  let invocation: Invocation | undefined;
  const watched: string[] = [];
  let openWatches = 0;
  const output = (fd: 1 | 2): LogOutput => ({
    buffers: false,
    write: (text) => {
      streams[fd] += text;
    },
    flush() {},
  });
  const io: CommandLineIO = {
    program: 'kube-proxy',
    stdout: (text) => output(1).write(text),
    stderr: (text) => output(2).write(text),
    readFile(path) {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
      return text;
    },
    writeFile(path, text) {
      if (path.startsWith('/readonly/')) throw Object.assign(new Error('EROFS'), { code: 'EROFS' });
      files[path] = text;
    },
    kernelHostname: () => world.hostname ?? ' Kernel-Name ',
    fileWatcher: {
      open(path) {
        if (world.watchError !== undefined) throw world.watchError;
        watched.push(path);
        openWatches++;
        return { state: () => ({ modified: 0n, accessed: 0n, content: '' }), close: () => openWatches-- };
      },
    },
    createLogger: (options) => createStandardLogger(options, new FakeClock(), output),
  };
  const status = await runCommandLine(argv, io, {
    run: async (resolved) => {
      invocation = resolved;
      return 0;
    },
    ...world.commands,
  });
  return { status, stdout: streams[1], stderr: streams[2], files, invocation, watched, openWatches };
}

describe('what ends at once (operations 1.1, 1.4)', () => {
  test('--help prints the help and our commands', async () => {
    const summary = 'prints what would be programmed';
    const subcommands = { 'show-plan': { summary, run: async () => 0 } };
    for (const flag of ['--help', '-h']) {
      const { status, stdout, stderr } = await run([flag], { commands: { subcommands } });
      expect([status, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(/^Usage: kube-proxy \[flags\]\n/);
      expect(stdout).toContain('--proxy-mode string');
      expect(stdout).toContain(summary);
    }
  });

  test('--version prints the Kubernetes version on one line, before anything else is looked at', async () => {
    const { status, stdout, stderr } = await run(['--version', '--config=/missing']);
    expect([status, stdout, stderr]).toEqual([0, 'Kubernetes v1.36.2\n', '']);
  });

  test('--version=raw prints details, another version only changes what is reported', async () => {
    const raw = JSON.parse((await run(['--version=raw'])).stdout) as Record<string, string>;
    expect(raw).toMatchObject({ kubernetes: 'v1.36.2', fairlead: expect.stringMatching(/^[0-9]+\./) });
    const { invocation, stdout } = await run(['--version=v9.9.9']);
    expect([invocation?.reportedVersion, stdout]).toEqual(['v9.9.9', '']);
    expect((await run(['--version=false'])).invocation?.reportedVersion).toBe('v1.36.2');
  });

  test('wrong flags are answered with usage and a plain error line', async () => {
    for (const argv of [['--nosuchflag'], ['extra-arg'], ['--oom-score-adj=x']]) {
      const { status, stdout, stderr, invocation } = await run(argv);
      expect([status, stdout, invocation]).toEqual([1, '', undefined]);
      expect(stderr).toMatch(/^Usage: kube-proxy[\s\S]*\n\nError: .+\n$/);
    }
  });

  test('a word of ours hands over to its command, with the rest of the line', async () => {
    const seen: unknown[] = [];
    const subcommands = {
      'show-plan': {
        summary: '',
        run: async (argv: readonly string[], io: CommandLineIO) => {
          seen.push(argv, io.program);
          return 7;
        },
      },
    };
    const { status } = await run(['show-plan', '--x', 'y'], { commands: { subcommands } });
    expect([status, ...seen]).toEqual([7, ['--x', 'y'], 'kube-proxy']);
    expect((await run(['toString'], { commands: { subcommands } })).status).toBe(1);
    expect((await run(['--cleanup', 'show-plan'], { commands: { subcommands } })).status).toBe(1);
  });
});

describe('failures before the start (operations 1.3)', () => {
  test.each<[string, string[], string, RegExp]>([
    [
      'a missing file',
      ['--config=/missing'],
      '',
      /"command failed" err="failed complete: cannot read \/missing: ENOENT/,
    ],
    ['a bad file', ['--config=/c'], 'mode: 3\n', /err="failed complete: failed to decode: \/c:3: mode: /],
    [
      'a bad gate',
      ['--config=/c'],
      'featureGates: {Bogus: true}\n',
      /err="failed complete: unrecognized feature gate: Bogus/,
    ],
    ['a blank name', ['--hostname-override= '], '', /err="failed complete: .*--hostname-override/],
    ['a bad log format', ['--logging-format=xml'], '', /err="initialize logging: logging\.format: /],
    [
      'a bad value',
      ['--config=/c'],
      'oomScoreAdj: 5000\n',
      /err="failed validate: KubeProxyConfiguration\..*\/c:3/,
    ],
  ])('%s: exit 1 and one log line', async (_name, argv, body, line) => {
    const { status, stderr, invocation, openWatches } = await run(argv, { files: { '/c': head + body } });
    expect([status, invocation, openWatches]).toEqual([1, undefined, 0]);
    expect(stderr).toMatch(/^E[^\n]*\n$/);
    expect(stderr).toMatch(line);
  });

  test('errors after logging is set up come in the configured format', async () => {
    const { stderr } = await run(['--logging-format=json', '--oom-score-adj=5000']);
    expect(JSON.parse(stderr)).toMatchObject({ msg: 'command failed', code: 'CONFIG_INVALID' });
  });

  test('--cleanup and --write-config-to fail with an invalid configuration too', async () => {
    const { status, files } = await run(['--cleanup', '--write-config-to=/out', '--proxy-mode=bogus']);
    expect([status, files]).toEqual([1, {}]);
  });

  test('an empty host name is fatal, except for cleanup', async () => {
    const { status, stderr } = await run([], { hostname: ' ' });
    expect(status).toBe(1);
    expect(stderr).toContain('code="CONFIG_HOSTNAME_EMPTY"');
    expect((await run(['--cleanup'], { hostname: '' })).invocation?.nodeName).toBe('');
    expect((await run([], { hostname: '', files: {} })).status).toBe(1);
    const files = { '/c': `${head}hostnameOverride: "  "\n` };
    expect((await run(['--config=/c'], { files })).stderr).toContain('hostnameOverride is blank');
  });
});

describe('--write-config-to', () => {
  test('writes the effective configuration and exits', async () => {
    const files = { '/c': `${head}mode: nftables\n` };
    const {
      status,
      files: after,
      stderr,
      invocation,
      openWatches,
    } = await run(['--config=/c', '--write-config-to=/out', '--cleanup', '-v=3'], { files });
    expect([status, invocation, openWatches]).toEqual([0, undefined, 0]);
    expect(after['/out']).toMatch(/^apiVersion: kubeproxy.*\n/);
    expect(after['/out']).toContain('mode: nftables\n');
    expect(after['/out']).toContain('nodePortAddresses:\n- primary\n');
    expect(after['/out']).toContain('  verbosity: 3\n');
    expect(stderr).toContain('"Wrote configuration" file="/out"');
  });

  test('fails with exit 1 when the file cannot be written', async () => {
    const { status, stderr } = await run(['--write-config-to=/readonly/out']);
    expect(status).toBe(1);
    expect(stderr).toContain('cannot write the configuration to /readonly/out: EROFS');
  });
});

describe('a resolved invocation', () => {
  test('has everything a run needs', async () => {
    const files = { '/c': `${head}clientConnection: {kubeconfig: /k}\nfairlead: {manifests: /m}\n` };
    const argv = ['--config=/c', '--master=https://api:6443', '--init-only'];
    const { status, invocation, watched, openWatches } = await run(argv, { files });
    expect(status).toBe(0);
    expect(invocation).toMatchObject({
      oneShot: 'init-only',
      nodeName: 'kernel-name',
      kernelHostname: ' Kernel-Name ',
      master: 'https://api:6443',
      kubeconfig: '/k',
      manifestsDir: '/m',
      reportedVersion: 'v1.36.2',
      config: { mode: 'iptables', detectLocalMode: 'ClusterCIDR' },
    });
    expect(invocation?.flags).toContainEqual({ name: 'config', value: '/c' });
    expect(watched).toEqual(['/c']);
    // Closed by runCommandLine once the run is over.
    expect(openWatches).toBe(0);
  });

  test('a file that cannot be watched is a warning: the proxy has better things to do', async () => {
    const watchError = Object.assign(new Error('EMFILE: too many open files, watch'), { code: 'EMFILE' });
    const { status, stderr, invocation } = await run(['--config=/c'], { files: { '/c': head }, watchError });
    expect(status).toBe(0);
    expect(invocation).toMatchObject({ configFileWatch: undefined, config: { mode: 'iptables' } });
    expect(stderr).toMatch(/^W.*without noticing changes.*\/c: EMFILE: too many open files, watch"\n$/);
  });

  test('without --config there is no watch; cleanup goes before init-only', async () => {
    const { invocation } = await run(['--cleanup', '--init-only', '--hostname-override=N1']);
    expect(invocation).toMatchObject({
      oneShot: 'cleanup',
      nodeName: '',
      configFileWatch: undefined,
      manifestsDir: undefined,
    });
    expect((await run([])).invocation?.oneShot).toBeUndefined();
    expect((await run(['--hostname-override=N1'])).invocation?.nodeName).toBe('n1');
  });

  test('warnings and, at level 1, the flags are logged', async () => {
    const files = { '/c': `${head}foo: bar\n` };
    const { stderr } = await run(['--config=/c', '-v=1', '--healthz-port=1'], { files });
    expect(stderr).toMatch(/^W.*"flag --healthz-port is deprecated: use --healthz-bind-address"$/m);
    expect(stderr).toMatch(/^W.*lenient decoding" err="\/c:3: foo: unknown field, ignored"$/m);
    expect(stderr).toMatch(/^W.*"Flags without effect, because --config is given" flags="--healthz-port"$/m);
    expect(stderr).toMatch(/^I.*\] FLAG: --config="\/c"$/m);
    expect((await run([])).stderr).toBe('');
  });

  test('what ends the run is logged, and its status handed on', async () => {
    const failed = await run([], {
      commands: {
        run: () => Promise.reject(new Error('no API server', { cause: new Error('refused') })),
      },
    });
    expect(failed.status).toBe(1);
    expect(failed.stderr).toMatch(/^E.*"command failed" err="no API server: refused"\n$/);
    expect((await run([], { commands: { run: async () => 3 } })).status).toBe(3);
  });
});
