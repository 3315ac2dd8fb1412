import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LineProcess } from '../testbed/line-process.ts';
import type { DownloadRequest, DownloadState } from './download-child.ts';
import type { InjectRequest } from './inject-child.ts';
import { NodeBed } from './node-bed.ts';
import { node, service, slice } from './objects.ts';
import type { ProxyProcess } from './proxy-process.ts';
import { waitUntil } from './wait-until.ts';

// C103: a download through a ClusterIP; the endpoint sends a segment that connection tracking finds out of window.

const CLUSTER_IP = '10.96.0.103';
const ENDPOINT = '10.244.1.2';
const PORT = 9090;
/** Marks the injected segment. One hop is taken off on the way. */
const TTL = 77;
/** Far beyond what any receive window allows. */
const EARLY = 500_000_000;
const LATE = -500_000_000;
const PART = 100_000;
/** For anything that should happen at once. */
const PATIENCE = 30_000;

/** What the client's namespace sees, counted by its packet filter. */
const COUNTERS = `
table ip watch {
  counter translated { }
  counter untranslated { }
  counter resets { }
  chain arriving {
    type filter hook prerouting priority -300
    ip saddr ${CLUSTER_IP} ip ttl ${TTL - 1} counter name translated
    ip saddr ${ENDPOINT} tcp sport ${PORT} counter name untranslated
  }
  chain leaving {
    type filter hook output priority -300
    ip daddr ${ENDPOINT} tcp dport ${PORT} tcp flags & rst == rst counter name resets
  }
}`;

let bed: NodeBed;
beforeAll(async () => {
  bed = await NodeBed.create();
});
afterAll(() => bed.close());
beforeEach(async () => {
  await bed.reset();
  await setLiberal(false);
  await bed.testbed.run('client', ['nft', '-f', '-'], COUNTERS);
});
const children: LineProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) await child.stop();
  await bed.testbed.run('client', ['nft', 'delete', 'table', 'ip', 'watch']);
});

describe.each(['nft', 'legacy'] as const)('iptables on the back-end %s', (backend) => {
  test('the segment is dropped, the client sees nothing of it, the download completes', async () => {
    await start('iptables', { backend });
    const download = await Download.begin();
    await download.inject(EARLY);
    await waitUntil('the rule drops it', async () => (await dropped(backend)) > 0, PATIENCE);
    await download.complete();
    expect(await counters()).toEqual({ translated: 0, untranslated: 0, resets: 0 });
  });

  test('without the rule it reaches the client untranslated, and the answer resets the endpoint', async () => {
    const proxy = await start('iptables', { backend });
    await proxy.end();
    await withLock([`iptables-${backend}`, '-w', '-D', 'KUBE-FORWARD', '1']);
    expect(await dropped(backend)).toBeNaN();
    const download = await Download.begin();
    await download.inject(EARLY);
    await download.reset();
    expect(await counters()).toEqual({ translated: 0, untranslated: 1, resets: 1 });
  });

  test('with liberal tracking there is no rule, and it arrives translated', async () => {
    await start('iptables', { backend, liberal: true });
    expect(await dropped(backend)).toBeNaN();
    await livesWithTranslated(EARLY);
  });
});

describe('nftables', () => {
  // As with kube-proxy; docs/cases.md tells operators.
  test('there is no such rule: it reaches the client untranslated, and the answer resets the endpoint', async () => {
    await start('nftables');
    const download = await Download.begin();
    await download.inject(EARLY);
    await download.reset();
    expect(await counters()).toEqual({ translated: 0, untranslated: 1, resets: 1 });
  });

  test('with liberal tracking it arrives translated, and the download completes', async () => {
    await start('nftables', { liberal: true });
    await livesWithTranslated(EARLY);
  });
});

describe.each(['iptables', 'nftables'] as const)('%s', (mode) => {
  // Linux 6.1 and later do not call such a segment invalid: what was acknowledged long ago is no attack.
  test('a late duplicate does no harm', async () => {
    await start(mode);
    await livesWithTranslated(LATE);
  });
});

async function livesWithTranslated(shift: number): Promise<void> {
  const download = await Download.begin();
  await download.inject(shift);
  await waitUntil('it arrives', async () => (await counters()).translated > 0, PATIENCE);
  await download.complete();
  expect(await counters()).toEqual({ translated: 1, untranslated: 0, resets: 0 });
}

async function start(
  mode: 'iptables' | 'nftables',
  options: { readonly backend?: 'nft' | 'legacy'; readonly liberal?: boolean } = {},
): Promise<ProxyProcess> {
  await bed.api.apply(
    node(),
    service('download', CLUSTER_IP, { targetPort: PORT }),
    slice('download', [ENDPOINT], { port: PORT }),
  );
  const { backend = 'nft', liberal: tcpBeLiberal = false } = options;
  const proxy = bed.start(mode, {
    env: bed.environment(backend),
    config: {
      // The client counts as a pod of this node: its address is kept, so replies are forwarded to it.
      clusterCIDR: '172.31.0.0/24,fd00:31::/64',
      conntrack: { maxPerCore: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s', tcpBeLiberal },
    },
  });
  await bed.synced(proxy, PATIENCE);
  return proxy;
}

/** A connection from the client to the ClusterIP over which a part has been sent. */
class Download {
  readonly #server: LineProcess;
  readonly #client: LineProcess;
  readonly #injector: LineProcess;
  #sent = 0;

  private constructor() {
    const child = (namespace: string, script: string) => {
      const started = LineProcess.start(bed.testbed.fullName(namespace), new URL(script, import.meta.url));
      children.push(started);
      return started;
    };
    this.#server = child('pod-a', './download-child.ts');
    this.#client = child('client', './download-child.ts');
    this.#injector = child('pod-a', './inject-child.ts');
  }

  static async begin(): Promise<Download> {
    const download = new Download();
    await download.#injector.request({ op: 'watch', device: 'eth0', port: PORT } satisfies InjectRequest);
    await ask(download.#server, { op: 'listen', host: ENDPOINT, port: PORT });
    await ask(download.#client, { op: 'connect', host: CLUSTER_IP, port: 80 });
    const connected = async () => (await state(download.#server)).connected;
    await waitUntil('the endpoint has the connection', connected, PATIENCE);
    await download.#sendPart();
    return download;
  }

  async inject(shift: number): Promise<void> {
    const seen = () => this.#injector.request({ op: 'seen' } satisfies InjectRequest) as Promise<boolean>;
    await waitUntil('a segment was seen', seen, PATIENCE);
    await this.#injector.request({ op: 'inject', shift, ttl: TTL } satisfies InjectRequest);
  }

  /** Sends the rest and waits until the client has it all. */
  async complete(): Promise<void> {
    await this.#sendPart();
    await ask(this.#server, { op: 'end' });
    await waitUntil('the client has all', async () => (await state(this.#client)).complete, PATIENCE);
    for (const end of [this.#client, this.#server]) expect((await state(end)).error).toBeUndefined();
    expect((await state(this.#client)).received).toBe(this.#sent);
  }

  /** Waits until the endpoint's end of the connection is reset. */
  async reset(): Promise<void> {
    const error = async () => (await state(this.#server)).error;
    await waitUntil('the endpoint is reset', async () => (await error()) === 'ECONNRESET', PATIENCE);
  }

  async #sendPart(): Promise<void> {
    await ask(this.#server, { op: 'send', bytes: PART });
    this.#sent += PART;
    const arrived = async () => (await state(this.#client)).received === this.#sent;
    await waitUntil('the client has the part', arrived, PATIENCE);
  }
}

function ask(end: LineProcess, request: DownloadRequest): Promise<unknown> {
  return end.request(request);
}

async function state(end: LineProcess): Promise<DownloadState> {
  return (await ask(end, { op: 'state' })) as DownloadState;
}

async function counters(): Promise<{ translated: number; untranslated: number; resets: number }> {
  const text = await bed.testbed.run('client', ['nft', 'list', 'counters', 'table', 'ip', 'watch']);
  const packets = (name: string) =>
    Number(new RegExp(`counter ${name} \\{\\s*packets (\\d+)`).exec(text)?.[1]);
  return {
    translated: packets('translated'),
    untranslated: packets('untranslated'),
    resets: packets('resets'),
  };
}

/** Packets that the rule for invalid ones has dropped; NaN where there is no rule. */
async function dropped(backend: 'nft' | 'legacy'): Promise<number> {
  const text = await withLock([`iptables-${backend}-save`, '-c', '-t', 'filter']);
  return Number(/^\[(\d+):\d+\] -A KUBE-FORWARD .*--ctstate INVALID .*-j DROP$/m.exec(text)?.[1]);
}

function withLock(argv: readonly string[]): Promise<string> {
  return bed.run(['env', `XTABLES_LOCKFILE=${bed.lockFile}`, ...argv]);
}

async function setLiberal(liberal: boolean): Promise<void> {
  const path = '/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal';
  await bed.run(['sh', '-c', `echo ${liberal ? 1 : 0} > ${path}`]);
}
