import { afterEach, beforeEach, expect, test } from 'vitest';
import { waitUntil } from '../../../test/netns/lifecycle/wait-until.ts';
import { Namespace } from '../../../test/netns/namespace.ts';
import { LineProcess } from '../../../test/netns/testbed/line-process.ts';
import { defaultAnswerTimeoutMs } from './api-client.ts';
import { defaultKeepAlive, type KeepAlive } from './http-transport.ts';
import type { DeadConnectionRequest, DeadConnectionState } from './testing/dead-connection-child.ts';

// C119 (b): packets of a connection are lost from some time on, and neither end is told.

let namespace: Namespace;
let child: LineProcess;
beforeEach(() => {
  namespace = Namespace.create('fls-dead');
  child = LineProcess.start(namespace.name, new URL('./testing/dead-connection-child.ts', import.meta.url));
});
afterEach(async () => {
  await child.stop();
  namespace.delete();
});

const ask = (request: DeadConnectionRequest) => child.request(request);
const state = async () => (await ask({ op: 'state' })) as DeadConnectionState;

/** Drops the packets of all connections that are open to a port now; those opened later live. */
function loseConnections(port: number): void {
  const lines = namespace
    .run('ss', '-Htn', 'state', 'established', `( dport = :${port} )`)
    .trim()
    .split('\n');
  const clients = lines.map((line) => /:(\d+)\s+\S+:\d+/.exec(line)?.[1]);
  expect(clients).not.toContain(undefined);
  namespace.run('nft', 'add table ip loss');
  namespace.run('nft', 'add chain ip loss in { type filter hook input priority 0; }');
  namespace.run('nft', `add rule ip loss in tcp dport ${port} tcp sport { ${clients.join()} } counter drop`);
  namespace.run('nft', `add rule ip loss in tcp sport ${port} tcp dport { ${clients.join()} } drop`);
}

/** Packets of the client that were lost: probes, and the reset at the end. */
function lostPackets(): number {
  return Number(/counter packets (\d+)/.exec(namespace.run('nft', 'list table ip loss'))![1]);
}

const keepAlive: KeepAlive = { initialDelay: 1000, interval: 2000, count: 2 };

test.each(['http', 'https', 'tunnel'] as const)(
  'C119: a watch over %s whose packets are lost is found out by keep-alive and goes on',
  async (way) => {
    const port = (await ask({ op: 'listen', way, keepAlive, answerTimeoutMs: 60_000 })) as number;
    await ask({ op: 'watch' });
    await waitUntil('the first watch is open', async () => (await state()).watches === 1, 30_000);
    loseConnections(port);
    const milliseconds = await waitUntil(
      'the second watch has brought the change',
      async () => (await state()).calls.length === 2,
      60_000,
    );
    const { calls, warnings } = await state();
    expect(calls).toEqual(['synced', 'set ns/new@11']);
    expect(warnings).toEqual(['The connection to the API server failed']);
    // Node's own settings are ten probes, a second apart. Here it is two, the reset, and maybe a late acknowledgement.
    expect(lostPackets()).toBeLessThan(8);
    expect(milliseconds).toBeGreaterThan(keepAlive.count * keepAlive.interval - 500);
  },
);

test('C119: a request into a kept connection whose packets are lost is given up, the next one takes another', async () => {
  const slow: KeepAlive = { initialDelay: 600_000, interval: 60_000, count: 9 };
  const listen = { op: 'listen', way: 'https', keepAlive: slow, answerTimeoutMs: 2000 } as const;
  const port = (await ask(listen)) as number;
  // Under load the very first request may take its time.
  await waitUntil('a request is answered', async () => (await ask({ op: 'get' })) === 'ok', 60_000);
  loseConnections(port);
  expect(await ask({ op: 'get' })).toBe('API_SILENT');
  await waitUntil('a request is answered again', async () => (await ask({ op: 'get' })) === 'ok', 60_000);
});

test('C119: by default a dead connection is found out in less than a minute, a request in a minute', () => {
  const { initialDelay, interval, count } = defaultKeepAlive;
  expect(initialDelay + interval * count).toBeLessThan(45_000);
  expect(defaultAnswerTimeoutMs).toBeLessThanOrEqual(60_000);
});
