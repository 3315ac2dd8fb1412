/**
 * Measures how fast a transaction with many elements is encoded, and, with `--kernel`, how long the kernel takes for
 * it and for small changes afterwards. The latter changes the ruleset of the network namespace it runs in:
 *
 *   unshare --net node test/bench/nft-encode.ts --kernel
 */
import { NftablesConnection } from '../../src/kernel/nftables/nftables-connection.ts';
import type { NftMap } from '../../src/kernel/nftables/objects.ts';
import { PackedElements } from '../../src/kernel/nftables/packed-elements.ts';
import { daddr, metaL4proto, numgenRandom, thDport } from '../../src/kernel/nftables/selector/selector.ts';
import { Transaction } from '../../src/kernel/nftables/transaction.ts';

const SERVICES = 10_000;
const ENDPOINTS = 10;
const TABLE = 'bench';
const TCP = 6;

const maps = (services: number) => ({
  verdicts: {
    kind: 'map',
    name: 'service-ips',
    key: { type: ['ipv4_addr', 'inet_proto', 'inet_service'] },
    data: 'verdict',
    size: services * 2,
  } as const satisfies NftMap,
  endpoints: {
    kind: 'map',
    name: 'endpoints',
    key: { typeof: [daddr('ip'), metaL4proto, thDport, numgenRandom(2)] },
    data: { typeof: [daddr('ip'), thDport] },
    size: services * ENDPOINTS * 2,
  } as const satisfies NftMap,
});

const serviceIP = (service: number) => `10.${96 + (service >> 16)}.${(service >> 8) & 255}.${service & 255}`;
const podIP = (pod: number) => `10.${pod >> 16}.${(pod >> 8) & 255}.${pod & 255}`;

function fill(services: number, comments: boolean): Transaction {
  const { verdicts, endpoints } = maps(services);
  const transaction = new Transaction('ip', TABLE).add({ kind: 'table' });
  const base = (hook: 'prerouting' | 'output') =>
    ({ kind: 'chain', name: `nat-${hook}`, base: { type: 'nat', hook, priority: -100 } }) as const;
  transaction.add(base('prerouting')).add(base('output')).add({ kind: 'chain', name: 'services' });
  transaction.add({ kind: 'chain', name: 'balance-10' }).add(verdicts).add(endpoints);
  const verdictRows = PackedElements.for(verdicts, services);
  const endpointRows = PackedElements.for(endpoints, services * ENDPOINTS);
  for (let service = 0; service < services; service++) {
    const ip = serviceIP(service);
    verdictRows.begin().address(ip).protocol(TCP).port(80).verdict('goto balance-10');
    if (comments) verdictRows.comment(`namespace-${service % 50}/service-${service}:http`);
    for (let index = 0; index < ENDPOINTS; index++) {
      endpointRows.begin().address(ip).protocol(TCP).port(80).number(index);
      endpointRows.address(podIP(service * ENDPOINTS + index)).port(8080);
    }
  }
  transaction.add({ kind: 'elements', of: endpoints, rows: endpointRows });
  transaction.add({ kind: 'elements', of: verdicts, rows: verdictRows });
  const key = [daddr('ip'), metaL4proto, thDport];
  const jump = [{ kind: 'verdict', verdict: 'jump services' }] as const;
  transaction.add({ kind: 'rule', chain: 'nat-prerouting', statements: jump });
  transaction.add({ kind: 'rule', chain: 'nat-output', statements: jump });
  transaction.add({
    kind: 'rule',
    chain: 'services',
    statements: [{ kind: 'vmap', key, map: { set: 'service-ips' } }],
  });
  transaction.add({
    kind: 'rule',
    chain: 'balance-10',
    statements: [
      { kind: 'match', left: [metaL4proto], op: '==', right: { values: ['tcp', 'udp', 'sctp'] } },
      { kind: 'dnat', to: { key: [...key, numgenRandom(ENDPOINTS)], map: { set: 'endpoints' } } },
    ],
  });
  return transaction;
}

function timed<Result>(work: () => Result): [result: Result, milliseconds: number] {
  const start = performance.now();
  const result = work();
  return [result, performance.now() - start];
}

const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

function report(what: string, milliseconds: number, more = ''): void {
  console.log(`${what.padEnd(64)} ${milliseconds.toFixed(2).padStart(9)} ms  ${more}`);
}

for (const comments of [false, true]) {
  const [transaction, filling] = timed(() => fill(SERVICES, comments));
  const label = `${SERVICES} verdicts${comments ? ' with comments' : ''}, ${SERVICES * ENDPOINTS} endpoints`;
  report(`fill rows: ${label}`, filling);
  const times: number[] = [];
  let length = 0;
  const before = process.memoryUsage();
  for (let run = 0; run < 5; run++) {
    const [batch, took] = timed(() => transaction.encode());
    times.push(took);
    length = batch.bytes.length;
  }
  const heap = process.memoryUsage().heapUsed - before.heapUsed;
  const more = `${(length / 1e6).toFixed(1)} MB; first ${times[0]!.toFixed(1)} ms; heap ${(heap / 1e6).toFixed(1)} MB`;
  report(`encode: ${label}`, median([...times]), more);
}

if (process.argv.includes('--kernel')) {
  const connection = NftablesConnection.open();
  for (const services of [100, SERVICES]) {
    const transaction = fill(services, true);
    const [, load] = timed(() => connection.commit(transaction));
    report(`commit: ${services} Services, ${services * ENDPOINTS} endpoints (encode + kernel)`, load);
    const { verdicts, endpoints } = maps(services);
    const one = PackedElements.for(endpoints).begin();
    one.address(serviceIP(0)).protocol(TCP).port(81).number(0).address(podIP(1)).port(8080);
    const oneVerdict = PackedElements.for(verdicts).begin();
    oneVerdict.address(serviceIP(0)).protocol(TCP).port(80).verdict('goto balance-10');
    const endpoint = { kind: 'elements', of: endpoints, rows: one } as const;
    const verdict = { kind: 'elements', of: verdicts, rows: oneVerdict } as const;
    const repeat = (work: () => void) => median(Array.from({ length: 101 }, () => timed(work)[1]));
    report(
      `  one endpoint element: add, then delete (two transactions)`,
      repeat(() => {
        connection.commit(new Transaction('ip', TABLE).add(endpoint));
        connection.commit(new Transaction('ip', TABLE).delete(endpoint));
      }),
    );
    report(
      `  one endpoint element: add + delete (one transaction)`,
      repeat(() => connection.commit(new Transaction('ip', TABLE).add(endpoint).delete(endpoint))),
    );
    report(
      `  one verdict changed: delete + add (one transaction)`,
      repeat(() => connection.commit(new Transaction('ip', TABLE).delete(verdict).add(verdict))),
    );
    const [rows, listing] = timed(() => connection.listElements('ip', TABLE, endpoints));
    report(`  list the endpoint map`, listing, `${rows?.count} elements`);
    const [, removal] = timed(() =>
      connection.commit(new Transaction('ip', TABLE).delete({ kind: 'table' })),
    );
    report(`  delete the table`, removal);
  }
  connection.close();
}
