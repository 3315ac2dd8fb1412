import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { Namespace } from '../../../test/netns/namespace.ts';
import { EEXIST, EPERM } from '../native/errno.ts';
import { NETLINK_NETFILTER, openNetlinkSocket } from '../netlink/netlink-socket.ts';
import { NftablesConnection } from './nftables-connection.ts';
import { NftablesError } from './nftables-error.ts';
import type { Family, NftMap, NftSet } from './objects.ts';
import { PackedElements } from './packed-elements.ts';
import { probeNftables, probeText, requireFeatures } from './probe.ts';
import type { RulesetEvent } from './ruleset-event.ts';
import { daddr, metaL4proto, numgenRandom, saddr, thDport } from './selector/selector.ts';
import { address, addresses, chain, portVerdict, table, verdicts } from './testing/case-objects.ts';
import { sampleRuleset } from './testing/sample-ruleset.ts';
import { Transaction } from './transaction.ts';
import { watchRuleset } from './watch-ruleset.ts';

const TABLE = 'kube-proxy';
const TCP = 6;

let namespace: Namespace;
let kernel: NftablesConnection;

beforeAll(() => {
  namespace = Namespace.create('fla-kernel');
  kernel = namespace.inside(() => NftablesConnection.open());
});

afterAll(() => {
  kernel?.close();
  namespace?.delete();
});

beforeEach(() => {
  for (const family of ['ip', 'ip6'] as const) {
    kernel.commit(new Transaction(family, TABLE).destroy({ kind: 'table' }));
  }
});

function errorOf(work: () => void): NftablesError {
  try {
    work();
  } catch (error) {
    if (error instanceof NftablesError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('transactions', () => {
  test('the operation that failed is named, with what the kernel said', () => {
    kernel.commit(
      new Transaction('ip', TABLE).add(table).add(chain('a')).add(verdicts).add(portVerdict(80, 'goto a')),
    );
    const error = errorOf(() =>
      kernel.commit(
        new Transaction('ip', TABLE).add(chain('b')).add(portVerdict(80, 'drop')).delete(chain('a')),
      ),
    );
    expect(error.message).toMatch(
      /^table ip kube-proxy: kernel answered EEXIST.* to: add element ip kube-proxy verdicts \{ tcp \. 80 : drop \}/,
    );
    expect(error.detail).toMatchObject({ errno: EEXIST, failed: [{ index: 1 }, { index: 2 }] });
    expect(kernel.listNames('ip', TABLE)?.chains).toEqual(['a']);
  });

  test('a transaction for a generation that has passed is refused', () => {
    const { generation } = kernel.generation();
    kernel.commit(new Transaction('ip', TABLE).add(table), { generation });
    const late = new Transaction('ip', TABLE).add(chain('late'));
    expect(errorOf(() => kernel.commit(late, { generation })).code).toBe('NFT_GENERATION_CHANGED');
    expect(kernel.listNames('ip', TABLE)?.chains).toEqual([]);
    expect(kernel.generation()).toMatchObject({ generation: generation + 1, processId: expect.any(Number) });
  });

  test('a check finds what a commit would, and changes nothing', () => {
    const { generation } = kernel.generation();
    kernel.check(sampleRuleset('ip'));
    expect(errorOf(() => kernel.check(new Transaction('ip', TABLE).delete(table))).code).toBe(
      'NFT_OPERATION_FAILED',
    );
    expect(kernel.listNames('ip', TABLE)).toBeUndefined();
    expect(kernel.generation().generation).toBe(generation);
  });

  test('a table with an owner: a flush of the ruleset spares it, others cannot change it, it goes with its socket', async () => {
    const owner = namespace.inside(() => NftablesConnection.open());
    owner.commit(new Transaction('ip', TABLE).add({ ...table, owner: true }).add(chain('a')));
    namespace.run('nft', 'flush', 'ruleset');
    expect(kernel.listTable('ip', TABLE)).toMatchObject({ owner: true });
    expect(namespace.run('nft', 'list', 'table', 'ip', TABLE)).toContain('flags owner');
    const error = errorOf(() => kernel.commit(new Transaction('ip', TABLE).add(chain('b'))));
    expect(error.message).toBe(
      'table ip kube-proxy: kernel answered EPERM: another process owns the table to: add chain ip kube-proxy b',
    );
    expect(error.detail).toMatchObject({ code: 'NFT_OPERATION_FAILED', errno: EPERM });
    owner.close();
    await vi.waitFor(() => expect(kernel.listNames('ip', TABLE)).toBeUndefined(), 20_000);
  });

  test('the kernel has what the probe asks for', () => {
    for (const family of ['ip', 'ip6'] as const) {
      const report = probeNftables(kernel, family);
      expect(probeText(report)).not.toContain('NO ');
      requireFeatures(report);
    }
  });

  test('thirty thousand elements in many messages arrive, and come back the same', async () => {
    const rows = PackedElements.for(addresses, 30_000);
    for (let i = 0; i < 30_000; i++) rows.begin().address(`10.1.${i >> 8}.${i & 255}`);
    const elements = { kind: 'elements', of: addresses, rows } as const;
    kernel.commit(
      new Transaction('ip', TABLE)
        .add(table)
        .add({ ...addresses, size: 30_000 })
        .add(elements),
    );
    const keys = (list: PackedElements | undefined) =>
      Array.from({ length: list?.count ?? 0 }, (_, row) => list?.key(row).toString('hex')).sort();
    expect(keys(kernel.listElements('ip', TABLE, addresses))).toEqual(keys(rows));
    expect(keys(await kernel.listElementsInBackground('ip', TABLE, addresses))).toEqual(keys(rows));
    const full = errorOf(() => kernel.commit(new Transaction('ip', TABLE).add(address('10.9.9.9'))));
    expect(full.message).toMatch(/ENFILE/);
    kernel.commit(new Transaction('ip', TABLE).delete(elements));
    expect(kernel.listElements('ip', TABLE, addresses)?.count).toBe(0);
  });

  test('elements with times left are carried over into a new set', () => {
    const affinity: NftSet = {
      kind: 'set',
      name: 'affinity',
      key: { type: ['ipv4_addr'] },
      flags: ['dynamic', 'timeout'],
      timeoutMs: 10_800_000,
    };
    const rows = PackedElements.for(affinity).begin().address('192.0.2.1').timeout(10_800_000, 5_000_000);
    const elements = { kind: 'elements', of: affinity, rows } as const;
    kernel.commit(new Transaction('ip', TABLE).add(table).add(affinity).add(elements));
    const held = kernel.listElements('ip', TABLE, affinity)!;
    kernel.commit(
      new Transaction('ip', TABLE)
        .destroy(table)
        .add(table)
        .add(affinity)
        .add({ ...elements, rows: held }),
    );
    const left = kernel.listElements('ip', TABLE, affinity)!;
    expect(left.count).toBe(1);
    expect(left.expirationsMs?.[0]).toBeGreaterThan(4_990_000);
    expect(left.expirationsMs?.[0]).toBeLessThanOrEqual(5_000_000);
  });
});

describe('events', () => {
  test('changes by the nft program are told, with who made them; our own carry our port id', async () => {
    kernel.commit(
      new Transaction('ip', TABLE).add(table).add(chain('a')).add(addresses).add(address('10.0.0.1')),
    );
    const socket = namespace.inside(() => openNetlinkSocket(NETLINK_NETFILTER));
    const events: RulesetEvent[] = [];
    const watch = watchRuleset(socket, {
      onEvent: (event) => events.push(event),
      onLost: () => expect.unreachable(),
      onError: (error) => expect.unreachable(String(error)),
    });
    try {
      namespace.run('nft', 'flush', 'set', 'ip', TABLE, 'addresses');
      namespace.run('nft', 'delete', 'table', 'ip', TABLE);
      kernel.commit(new Transaction('ip', TABLE).add(table));
      watch.pause(() => kernel.commit(new Transaction('ip', TABLE).add(chain('unseen'))));
      await vi.waitFor(() => expect(events.filter(({ kind }) => kind === 'generation')).toHaveLength(3), {
        timeout: 20_000,
      });
      const own = events.filter(({ portId }) => portId === kernel.portId);
      const foreign = events.filter(({ portId }) => portId !== kernel.portId);
      expect(foreign).toContainEqual(
        expect.objectContaining({
          kind: 'delete',
          object: 'element',
          table: TABLE,
          name: 'addresses',
          familyNumber: 2,
        }),
      );
      expect(foreign).toContainEqual(
        expect.objectContaining({ kind: 'delete', object: 'table', table: TABLE }),
      );
      expect(foreign).toContainEqual(expect.objectContaining({ kind: 'generation', processName: 'nft' }));
      expect(own.map(({ kind }) => kind)).toEqual(['new', 'generation']);
    } finally {
      watch.close();
      socket.close();
    }
  });

  test('those of one socket can be ignored in the kernel, whatever their number', async () => {
    const other = namespace.inside(() => NftablesConnection.open());
    const socket = namespace.inside(() => openNetlinkSocket(NETLINK_NETFILTER));
    socket.ignoreEventsOf(kernel.portId);
    const heard: string[] = [];
    const watch = watchRuleset(socket, {
      onEvent: (event) => heard.push(`${event.kind} ${event.portId}`),
      onLost: () => heard.push('lost'),
      onError: (error) => heard.push(String(error)),
    });
    const rows = PackedElements.for(addresses, 30_000);
    for (let i = 0; i < 30_000; i++) rows.begin().address(`10.1.${i >> 8}.${i & 255}`);
    const elements = { kind: 'elements', of: addresses, rows } as const;
    kernel.commit(new Transaction('ip', TABLE).add(table).add(addresses).add(elements));
    other.commit(new Transaction('ip', TABLE).add(chain('theirs')));
    kernel.commit(new Transaction('ip', TABLE).add(chain('ours')));
    other.commit(new Transaction('ip', TABLE).delete(chain('theirs')));
    await vi.waitFor(() => expect(heard).toHaveLength(4), 20_000);
    expect(heard).toEqual(
      ['new', 'generation', 'delete', 'generation'].map((kind) => `${kind} ${other.portId}`),
    );
    watch.close();
    socket.close();
    other.close();
  });
});

describe.each<Family>(['ip', 'ip6'])('packets of family %s', (family) => {
  const v4 = family === 'ip';
  const service = v4 ? '10.96.0.1' : 'fd00:96::1';
  const pods = v4 ? ['10.0.0.1', '10.0.0.2', '10.0.0.3'] : ['fd00:10::1', 'fd00:10::2', 'fd00:10::3'];
  const nodePort = 30_080;

  test('are spread over the endpoints of a Service and of a node port, and counted', async () => {
    for (const ip of [...pods, service]) {
      namespace.run('ip', 'addr', 'add', `${ip}/${v4 ? 32 : 128}`, 'dev', 'lo', ...(v4 ? [] : ['nodad']));
    }
    const key = [daddr(family), metaL4proto, thDport];
    const endpoints: NftMap = {
      kind: 'map',
      name: 'endpoints',
      key: { typeof: [...key, numgenRandom(2)] },
      data: { typeof: [daddr(family), thDport] },
      counter: true,
    };
    const nodePortEndpoints: NftMap = {
      kind: 'map',
      name: 'nodeport-endpoints',
      key: { typeof: [metaL4proto, thDport, numgenRandom(2)] },
      data: { typeof: [daddr(family), thDport] },
    };
    const affinity: NftSet = {
      kind: 'set',
      name: 'affinity',
      key: { type: [v4 ? 'ipv4_addr' : 'ipv6_addr'] },
      flags: ['dynamic', 'timeout'],
      timeoutMs: 60_000,
    };
    const rows = PackedElements.for(endpoints);
    const nodePortRows = PackedElements.for(nodePortEndpoints);
    for (const [index, pod] of pods.entries()) {
      rows.begin().address(service).protocol(TCP).port(80).number(index).address(pod).port(8080);
      nodePortRows.begin().protocol(TCP).port(nodePort).number(index).address(pod).port(8080);
    }
    const transport = {
      kind: 'match',
      left: [metaL4proto],
      op: '==',
      right: { values: ['tcp', 'udp', 'sctp'] },
    } as const;
    const transaction = new Transaction(family, TABLE)
      .add(table)
      .add({ kind: 'chain', name: 'out', base: { type: 'nat', hook: 'output', priority: -100 } })
      .add(endpoints)
      .add(nodePortEndpoints)
      .add(affinity)
      .add({ kind: 'elements', of: endpoints, rows })
      .add({ kind: 'elements', of: nodePortEndpoints, rows: nodePortRows })
      .add({
        kind: 'rule',
        chain: 'out',
        statements: [
          { kind: 'match', left: [daddr(family)], op: '==', right: service },
          { kind: 'update', op: 'update', set: 'affinity', key: [saddr(family)] },
        ],
      })
      .add({
        kind: 'rule',
        chain: 'out',
        statements: [
          transport,
          { kind: 'dnat', to: { key: [...key, numgenRandom(3)], map: { set: 'endpoints' } } },
        ],
      })
      .add({
        kind: 'rule',
        chain: 'out',
        statements: [
          transport,
          {
            kind: 'dnat',
            to: { key: [metaL4proto, thDport, numgenRandom(3)], map: { set: 'nodeport-endpoints' } },
          },
        ],
      });
    kernel.commit(transaction);

    // Each connection is answered with the address it arrived at.
    const script = `
      const net = require('node:net');
      const server = net.createServer((socket) => socket.end(socket.localAddress));
      const ask = (port) => new Promise((resolve, reject) => {
        let answer = '';
        net.connect(port, ${JSON.stringify(service)}).on('error', reject)
          .on('data', (data) => { answer += data; }).on('close', () => resolve(answer));
      });
      server.listen(8080, ${JSON.stringify(v4 ? '0.0.0.0' : '::')}, async () => {
        const answers = {};
        for (const port of [80, ${nodePort}]) {
          for (let i = 0; i < 40; i++) { const name = port + ' ' + await ask(port); answers[name] = (answers[name] ?? 0) + 1; }
        }
        console.log(JSON.stringify(answers));
        server.close();
      });`;
    const answers: Record<string, number> = JSON.parse(namespace.run(process.execPath, '-e', script));
    for (const port of [80, nodePort]) {
      const hits = pods.map((pod) => answers[`${port} ${pod}`] ?? 0);
      expect(hits.reduce((sum, count) => sum + count)).toBe(40);
      for (const count of hits) expect(count).toBeGreaterThan(0);
    }
    const counted = kernel.listElements(family, TABLE, endpoints)!;
    const packets = counted.counters?.map((counter) => Number(counter?.packets)) ?? [];
    expect(packets.reduce((sum, count) => sum + count)).toBe(40);
    expect(kernel.listElements(family, TABLE, affinity)).toMatchObject({ count: 1 });
  });
});
