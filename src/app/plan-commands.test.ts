import { expect, test } from 'vitest';
import { silentLogger } from '../base/logger.ts';
import { type CommandLineIO, systemIO } from '../cli/command-line-io.ts';
import { resolveInvocation } from '../cli/resolve-invocation.ts';
import { parseFlags } from '../config/parse-flags.ts';
import { collectPlans } from './collect-plans.ts';
import { explain, showPlan } from './plan-commands.ts';

const shop = ['--manifests=examples/shop', '--hostname-override=node1'];

function capturingIO(): { io: CommandLineIO; printed: { out: string; err: string } } {
  const printed = { out: '', err: '' };
  const io: CommandLineIO = {
    ...systemIO('fairlead'),
    stdout: (text) => {
      printed.out += text;
    },
    stderr: (text) => {
      printed.err += text;
    },
    createLogger: () => ({ ...silentLogger, verbosity: 0, plain() {}, flush() {}, close() {} }),
  };
  return { io, printed };
}

test('show-plan prints what this node does for each Service of a directory', async () => {
  const { io, printed } = capturingIO();
  expect(await showPlan.run(shop, io)).toBe(0);
  expect(printed.out).toMatch(/^IPv4 on node node1\n/);
  expect(printed.out).toMatch(/ {2}ClusterIP {6}10\.96\.0\.60:80 +rejected: no endpoints\n/);
});

test('explain answers for a destination, and refuses what is no question', async () => {
  const { io, printed } = capturingIO();
  expect(await explain.run(['10.96.0.20:80/tcp', 'from', '10.244.1.2', ...shop], io)).toBe(0);
  expect(printed.out).toMatch(/^10\.96\.0\.20:80\/TCP is the ClusterIP of shop\/api:http\n/);
  for (const words of [['10.96.0.20'], ['10.96.0.20:99999'], ['10.96.0.20:80', 'from', 'there']])
    expect(await explain.run([...words, ...shop], io)).toBe(1);
  expect(printed.err.match(/^Error: explain takes /gm)).toHaveLength(3);
});

test('both commands print their usage when asked for help', async () => {
  const { io, printed } = capturingIO();
  expect(await showPlan.run(['--help'], io)).toBe(0);
  expect(await explain.run(['-h'], io)).toBe(0);
  expect(printed.out).toMatch(/^Usage: fairlead show-plan \[flags\]$/m);
  expect(printed.out).toMatch(/^Usage: fairlead explain IP:PORT/m);
  expect(printed.err).toBe('');
});

test('an API server that does not answer ends the wait with an error, not in silence', async () => {
  const argv = ['--master=http://127.0.0.1:1', '--hostname-override=node1'];
  const resolved = resolveInvocation(parseFlags(argv), capturingIO().io);
  if (!('invocation' in resolved)) throw new Error('the command line was refused');
  const plans = collectPlans(resolved.invocation, AbortSignal.timeout(200));
  await expect(plans).rejects.toMatchObject({ code: 'APP_READ_TIMED_OUT' });
});
