import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { diffLabelledHex } from '../netlink/testing/labelled-hex.ts';
import { numberBatch } from './batch-encoder.ts';
import type { NftMap } from './objects.ts';
import { PackedElements } from './packed-elements.ts';
import { ctState, ipDaddr, ipSaddr, metaL4proto, numgenRandom, thDport } from './selector/selector.ts';
import { Transaction } from './transaction.ts';

/**
 * The frames that `nft -f` 1.0.6 sends for the commands in a file of testdata, recorded with
 * `strace -e trace=sendmsg -e write=all`; with the differences we mean to have.
 */
function recorded(name: string): string {
  const hex = readFileSync(new URL(`./testdata/nft-1.0.6-${name}.hex`, import.meta.url), 'utf8');
  // The last message of an operation asks for an acknowledgement.
  const last =
    name === 'declare' ? '06 0a 01 0c  type 2566, flags 0xc01' : '08 0a 01 00  type 2568, flags 0x1';
  const at = hex.lastIndexOf(last);
  const acknowledged = `${hex.slice(0, at)}${last.replace(' 01 ', ' 05 ')}${hex.slice(at + last.length)}`;
  if (name === 'declare') {
    return acknowledged.replace(
      '00 0a 01 00  type 2560',
      '00 0a 01 04  type 2560, NLM_F_CREATE, not checked',
    );
  }
  // Sets that exist are named; nft adds a number besides (NFTA_SET_ELEM_LIST_SET_ID).
  return acknowledged
    .replaceAll(/^08 00 04 00 +attribute 4, length 8\n.*\n/gm, '')
    .replace('8c 00 00 00  NEWSETELEM', '84 00 00 00  NEWSETELEM')
    .replace('6c 00 00 00  NEWSETELEM', '64 00 00 00  NEWSETELEM');
}

function difference(name: string, transaction: Transaction): string | undefined {
  const batch = transaction.encode();
  numberBatch(batch, 0);
  return diffLabelledHex(recorded(name), batch.bytes);
}

const serviceIPs: NftMap = {
  kind: 'map',
  name: 'service-ips',
  key: { type: ['ipv4_addr', 'inet_proto', 'inet_service'] },
  data: 'verdict',
  comment: 'by address',
};
const endpoints: NftMap = {
  kind: 'map',
  name: 'endpoints',
  key: { typeof: [ipDaddr, metaL4proto, thDport, numgenRandom(2)] },
  data: { typeof: [ipDaddr, thDport] },
  size: 100,
};

test('tables, chains, sets and rules are declared as nft declares them', () => {
  const transaction = new Transaction('ip', 'kube-proxy')
    .add({ kind: 'table', comment: 'rules for kube-proxy' })
    .add({
      kind: 'chain',
      name: 'nat-prerouting',
      base: { type: 'nat', hook: 'prerouting', priority: -100, policy: 'accept' },
    })
    .add({ kind: 'chain', name: 'services' })
    .add(endpoints)
    .add(serviceIPs)
    .add({
      kind: 'rule',
      chain: 'nat-prerouting',
      statements: [
        { kind: 'match', left: [ctState], op: '==', right: 'new' },
        { kind: 'verdict', verdict: 'jump services' },
      ],
    })
    .add({
      kind: 'rule',
      chain: 'nat-prerouting',
      statements: [
        { kind: 'match', left: [ipSaddr], op: '!=', right: { values: ['203.0.113.0/25', '1.2.3.4'] } },
        { kind: 'verdict', verdict: 'drop' },
      ],
      comment: 'ranges',
    });
  expect(difference('declare', transaction)).toBeUndefined();
});

test('elements are added and deleted, and chains flushed, as nft does it', () => {
  const service = PackedElements.for(serviceIPs).begin().address('10.96.0.1').protocol(6).port(80);
  service.verdict('goto services').comment('ns/svc:p80');
  const endpoint = PackedElements.for(endpoints).begin().address('10.96.0.1').protocol(6).port(80).number(1);
  endpoint.address('10.0.0.2').port(8080);
  const transaction = new Transaction('ip', 'kube-proxy')
    .add({ kind: 'elements', of: serviceIPs, rows: service })
    .add({ kind: 'elements', of: endpoints, rows: endpoint })
    .delete({ kind: 'elements', of: serviceIPs, rows: service })
    .flush({ kind: 'chain', name: 'nat-prerouting' });
  expect(difference('change', transaction)).toBeUndefined();
});

test('negative control: one bit elsewhere is found and shown', () => {
  const transaction = new Transaction('ip', 'kube-proxy').flush({ kind: 'chain', name: 'nat-prerouting' });
  expect(difference('change', transaction)).toMatch(/^! .*DELRULE|^! /m);
});
