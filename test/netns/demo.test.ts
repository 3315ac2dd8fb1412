import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const DEMO = fileURLToPath(new URL('../../examples/demo/main.ts', import.meta.url));

interface DemoRun {
  readonly code: number | null;
  readonly output: string;
  /** Namespaces and temporary directories of this run that are still there. */
  readonly leftOver: readonly string[];
}

/** Runs the demo without a terminal; `interruptAt` is text that, once printed, is answered by SIGINT. */
async function runDemo(env: NodeJS.ProcessEnv, interruptAt?: string): Promise<DemoRun> {
  const before = new Set(shopDirectories());
  const child = spawn(process.execPath, [DEMO], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (interruptAt !== undefined && output.includes(interruptAt)) child.kill('SIGINT');
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  const namespaces = readdirSync('/run/netns').filter((name) => name.startsWith(`fl${child.pid}-`));
  const directories = shopDirectories().filter((name) => !before.has(name));
  return { code, output, leftOver: [...namespaces, ...directories] };
}

function shopDirectories(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith('fairlead-shop-'));
}

describe('the demo', () => {
  test.each(['nftables', 'iptables'])('%s: every line as expected, nothing left behind', async (MODE) => {
    const { code, output, leftOver } = await runDemo({ MODE });
    expect(code, output).toBe(0);
    expect(output).toContain('All as expected (16 lines)');
    expect(output).not.toContain('✗');
    expect(output).not.toContain('\u001b');
    expect(leftOver).toEqual([]);
  });

  test.each(['Building', 'Starting', 'Inside the cluster'])(
    'SIGINT after "%s" leaves nothing behind',
    async (at) => {
      const { code, output, leftOver } = await runDemo({ MODE: 'nftables' }, at);
      expect(code, output).toBe(130);
      expect(leftOver).toEqual([]);
    },
  );

  test('a mode that does not exist fails and leaves nothing behind', async () => {
    const { code, output, leftOver } = await runDemo({ MODE: 'nonsense' });
    expect(code).toBe(1);
    expect(output).toContain('Fairlead on node');
    expect(leftOver).toEqual([]);
  });
});
