import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { addWeb3 } from './scale-web.ts';
import { PODS } from './shop-network.ts';

const SHOP = new URL('../shop/', import.meta.url);

interface Slice {
  readonly kind: string;
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly endpoints?: readonly { readonly addresses: readonly string[]; readonly nodeName: string }[];
}

function objectsOf(text: string): Slice[] {
  return parseAllDocuments(text).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS() as Slice;
  });
}

function webAddresses(text: string): string[] {
  return objectsOf(text).flatMap(({ endpoints = [] }) => endpoints.flatMap(({ addresses }) => addresses));
}

test('every endpoint is a pod of the network, on the node it states', () => {
  let endpoints = 0;
  for (const file of readdirSync(SHOP).filter((name) => name.endsWith('.yaml'))) {
    for (const slice of objectsOf(readFileSync(new URL(file, SHOP), 'utf8'))) {
      for (const { addresses, nodeName } of slice.endpoints ?? []) {
        const pod = PODS.find(({ ipv4, ipv6 }) => addresses.includes(ipv4) || addresses.includes(ipv6));
        expect(pod?.node, `${file}: ${addresses}`).toBe(nodeName);
        endpoints += 1;
      }
    }
  }
  expect(endpoints).toBeGreaterThan(8);
});

test('scaling adds web-3 to both slices of web and changes nothing else', () => {
  const before = readFileSync(new URL('web.yaml', SHOP), 'utf8');
  const after = addWeb3(before);
  const added = webAddresses(after).filter((address) => !webAddresses(before).includes(address));
  expect(added).toEqual(['10.244.2.3', 'fd00:244:2::3']);
  expect(
    after
      .split('\n')
      .filter((line) => !line.includes('web-3'))
      .join('\n'),
  ).toBe(before);
  expect(() => addWeb3(before.replaceAll('# web-2', ''))).toThrow('0 endpoints');
});
