import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { processRunner } from './run-program.ts';

const run = processRunner();
const timeout = 10_000;

test('status and both outputs', async () => {
  const result = await run('sh', ['-c', 'echo out; echo err >&2; exit 3'], { timeout });
  expect(result).toEqual({ exitStatus: 3, stdout: 'out\n', stderr: 'err\n' });
});

test('a long input arrives whole and is made no faster than it is read', async () => {
  const line = `${'x'.repeat(99)}\n`;
  let made = 0;
  let ahead = 0;
  let read = 0;
  function* input() {
    for (; made < 200_000; made++) yield line;
  }
  const onLine = () => {
    read++;
    ahead = Math.max(ahead, made - read);
    return true;
  };
  await run('cat', [], { timeout, input: input(), onLine });
  expect(read).toBe(200_000);
  // 20 MB in all; never more than a few pipes full under way.
  expect(ahead).toBeLessThan(20_000);
});

test('a program that does not read its input is no error of its own', async () => {
  const line = `${'x'.repeat(99)}\n`;
  const result = await run('sh', ['-c', 'exec 0<&-; exit 7'], {
    timeout,
    input: Array.from({ length: 100_000 }, () => line),
  });
  expect(result.exitStatus).toBe(7);
});

test('the reader of lines can end a program that goes on for ever', async () => {
  const lines: string[] = [];
  await run('yes', [], {
    timeout,
    onLine(line) {
      lines.push(line);
      return lines.length < 3;
    },
  });
  expect(lines).toEqual(['y', 'y', 'y']);
});

test('a program that takes too long is killed', async () => {
  await expect(run('sleep', ['60'], { timeout: 50 })).rejects.toMatchObject({
    detail: { code: 'IPTABLES_KILLED', program: 'sleep', signal: 'SIGKILL' },
  });
});

test('a program that leaves its outputs open to another is not waited for', async () => {
  const begin = performance.now();
  // As modprobe does when it hangs and iptables is killed.
  await expect(run('sh', ['-c', 'sleep 50 & wait'], { timeout: 50 })).rejects.toMatchObject({
    detail: { code: 'IPTABLES_KILLED', signal: 'SIGKILL' },
  });
  const result = await run('sh', ['-c', 'sleep 50 & echo done; exit 3'], { timeout: 60_000 });
  expect(result).toEqual({ exitStatus: 3, stdout: 'done\n', stderr: '' });
  expect(performance.now() - begin).toBeLessThan(40_000);
}, 60_000);

test('without file descriptors left nothing is started, and nothing else breaks', async () => {
  const script = fileURLToPath(new URL('testing/run-without-descriptors.ts', import.meta.url));
  const result = await run('sh', ['-c', 'ulimit -n 64; exec "$0" "$1"', process.execPath, script], {
    timeout,
  });
  expect(result).toMatchObject({ exitStatus: 0, stdout: 'IPTABLES_NOT_STARTED\n'.repeat(3), stderr: '' });
});

test('of endless messages only the beginning is kept', async () => {
  const result = await run('sh', ['-c', 'yes | head -c 20000000 >&2; yes | head -c 20000000; exit 2'], {
    timeout: 60_000,
  });
  expect(result.exitStatus).toBe(2);
  expect(result.stderr.length).toBeLessThan(200_000);
  expect(result.stdout.length).toBeLessThan(1_200_000);
});

test('a program that does not exist', async () => {
  await expect(run('/no/such/program', [], { timeout })).rejects.toMatchObject({
    detail: { code: 'IPTABLES_NOT_STARTED', program: '/no/such/program' },
  });
});

test('an input that fails ends the program and is thrown', async () => {
  function* input() {
    yield 'a\n';
    throw new Error('cannot render');
  }
  await expect(run('cat', [], { timeout, input: input() })).rejects.toThrow('cannot render');
});

test('prefix and environment', async () => {
  const prefixed = processRunner(['env', 'A=1'], { B: '2' });
  const result = await prefixed('sh', ['-c', 'echo $A $B $LC_ALL'], { timeout });
  expect(result.stdout).toBe('1 2 C\n');
});
