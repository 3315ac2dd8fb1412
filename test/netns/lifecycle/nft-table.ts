import type { NodeBed } from './node-bed.ts';

interface Listed {
  readonly [kind: string]: {
    readonly name?: string;
    readonly chain?: string;
    readonly flags?: readonly string[] | string;
    readonly elem?: readonly unknown[];
    readonly [field: string]: unknown;
  };
}

/**
 * A table as the `nft` program lists it, by kind and name of its objects and the rules of each chain in order: without
 * handles, and without what depends on the order of creation or on traffic (elements that time out).
 */
export async function nftTable(bed: NodeBed, family: 'ip' | 'ip6'): Promise<Record<string, unknown>> {
  const text = await bed.run(['nft', '-j', '-s', 'list', 'table', family, 'kube-proxy']);
  const { nftables } = JSON.parse(text) as { nftables: readonly Listed[] };
  const objects: Record<string, unknown> = {};
  for (const [kind, { handle, elem, ...fields }] of nftables.flatMap((each) => Object.entries(each))) {
    void handle;
    if (kind === 'metainfo') continue;
    if (kind === 'rule') {
      const key = `rules of ${fields.chain}`;
      objects[key] = [...((objects[key] as unknown[] | undefined) ?? []), fields];
      continue;
    }
    const dynamic = [fields.flags].flat().includes('timeout');
    const elements = dynamic ? [] : [...(elem ?? [])].sort((a, b) => (asText(a) < asText(b) ? -1 : 1));
    objects[`${kind} ${fields.name}`] = { ...fields, elements };
  }
  return objects;
}

/** Names of all tables, chains, sets and maps of the nftables ruleset, one a line, sorted. */
export async function nftNames(bed: NodeBed): Promise<string[]> {
  const { nftables } = JSON.parse(await bed.run(['nft', '-j', '-t', 'list', 'ruleset'])) as {
    nftables: readonly Listed[];
  };
  return nftables
    .flatMap((each) => Object.entries(each))
    .filter(([kind]) => kind !== 'metainfo' && kind !== 'rule')
    .map(([kind, { family, table, name }]) => [kind, family, table, name].filter(Boolean).join(' '))
    .sort();
}

function asText(value: unknown): string {
  return JSON.stringify(value);
}
