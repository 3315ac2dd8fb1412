import { errorCode } from '../../base/fairlead-error.ts';
import { NftablesError } from './nftables-error.ts';
import type { BaseChain, Chain, Family, NftMap, NftObject, NftSet, Rule } from './objects.ts';
import { PackedElements } from './packed-elements.ts';
import {
  ctState,
  ctStatus,
  daddr,
  fibDaddrType,
  metaL4proto,
  metaMark,
  numgenRandom,
  type Selector,
  saddr,
  thDport,
} from './selector/selector.ts';
import type { Statement } from './statement/statement.ts';
import { Transaction } from './transaction.ts';

/** A thing the dataplane needs of nf_tables, and whether this kernel has it. */
export interface ProbedFeature {
  /** What is needed, in words an operator can search for. */
  readonly name: string;
  /** Kernel option that provides it. */
  readonly option: string;
  readonly available: boolean;
  /** Why not, as the kernel said it. */
  readonly reason?: string;
}

export interface ProbeReport {
  readonly family: Family;
  readonly features: readonly ProbedFeature[];
}

/** What a probe needs; NftablesConnection and the fake have it. */
export interface ProbedKernel {
  check(transaction: Transaction): void;
}

/** Not the dataplane's own table: nothing is created, but a check sees the tables that exist. */
const PROBE_TABLE = 'fairlead-probe';

/**
 * Finds out what the kernel can do by having it validate small transactions, which changes nothing (but lets the
 * kernel load modules). Throws NftablesError only when nothing can be found out at all: NFT_PERMISSION_DENIED,
 * NFT_NOT_SUPPORTED.
 */
export function probeNftables(kernel: ProbedKernel, family: Family): ProbeReport {
  const features: ProbedFeature[] = [];
  for (const { name, option, objects } of probes(family)) {
    const transaction = new Transaction(family, PROBE_TABLE).add({ kind: 'table' });
    for (const object of objects) transaction.add(object);
    try {
      kernel.check(transaction);
      features.push({ name, option, available: true });
    } catch (error) {
      const code = errorCode(error);
      if (
        !(error instanceof NftablesError) ||
        code === 'NFT_PERMISSION_DENIED' ||
        code === 'NFT_NOT_SUPPORTED'
      ) {
        throw error;
      }
      features.push({ name, option, available: false, reason: error.message });
    }
  }
  return { family, features };
}

/** Throws NftablesError (NFT_FEATURE_MISSING) that names everything a probe did not find. */
export function requireFeatures(report: ProbeReport): void {
  const missing = report.features.filter((feature) => !feature.available);
  if (missing.length === 0) return;
  const names = missing.map(({ name, option }) => `${name} (${option})`);
  throw new NftablesError(
    { code: 'NFT_FEATURE_MISSING', family: report.family, missing: missing.map(({ name }) => name) },
    `nftables: this kernel lacks for family ${report.family}: ${names.join('; ')}`,
  );
}

/** A probe's result as lines for a log or a terminal. */
export function probeText({ family, features }: ProbeReport): string {
  const lines = features.map(({ name, option, available, reason }) =>
    available ? `  yes  ${name}` : `  NO   ${name} (${option}): ${reason}`,
  );
  return `nf_tables, family ${family}:\n${lines.join('\n')}\n`;
}

interface Probe {
  readonly name: string;
  readonly option: string;
  readonly objects: readonly NftObject[];
}

function probes(family: Family): Probe[] {
  const address = family === 'ip' ? 'ipv4_addr' : 'ipv6_addr';
  const chain = (base: BaseChain): Chain => ({ kind: 'chain', name: 'base', base });
  const rule = (...statements: Statement[]): Rule => ({ kind: 'rule', chain: 'base', statements });
  const filter = chain({ type: 'filter', hook: 'input', priority: 0 });
  const dnatHook = chain({ type: 'nat', hook: 'prerouting', priority: -100 });
  const postrouting = chain({ type: 'nat', hook: 'postrouting', priority: 100 });
  const addresses: NftSet = { kind: 'set', name: 'addresses', key: { type: [address] } };
  const affinity: NftSet = { ...addresses, flags: ['dynamic', 'timeout'], timeoutMs: 10_000 };
  const key = [daddr(family), metaL4proto, thDport];
  const verdicts: NftMap = {
    kind: 'map',
    name: 'verdicts',
    key: { type: [address, 'inet_proto', 'inet_service'] },
    data: 'verdict',
  };
  const oneVerdict = PackedElements.for(verdicts, 1).begin().verdict('drop').comment('probe');
  const endpoints: NftMap = {
    kind: 'map',
    name: 'endpoints',
    key: { typeof: [...key, numgenRandom(2)] },
    data: { typeof: [daddr(family), thDport] },
    size: 16,
  };
  const drop: Statement = { kind: 'verdict', verdict: 'drop' };
  const match = (left: Selector, right: string): Statement => ({
    kind: 'match',
    left: [left],
    op: '==',
    right,
  });
  return [
    { name: 'tables', option: 'CONFIG_NF_TABLES', objects: [] },
    { name: 'filter chains', option: 'CONFIG_NF_TABLES_IPV4/IPV6', objects: [filter] },
    {
      name: 'nat chains',
      option: 'CONFIG_NFT_NAT',
      objects: [dnatHook, { ...postrouting, name: 'base-postrouting' }],
    },
    {
      name: 'comments on tables, chains and sets',
      option: 'Linux 5.10',
      objects: [
        { kind: 'chain', name: 'commented', comment: 'x' },
        { ...addresses, comment: 'x' },
      ],
    },
    {
      name: 'verdict maps with concatenated keys',
      option: 'CONFIG_NF_TABLES',
      objects: [
        filter,
        verdicts,
        { kind: 'elements', of: verdicts, rows: oneVerdict },
        rule({ kind: 'vmap', key, map: { set: verdicts.name } }),
      ],
    },
    {
      name: 'connection state (ct)',
      option: 'CONFIG_NFT_CT',
      objects: [filter, rule(match(ctState, 'new'), match(ctStatus, 'dnat'), drop)],
    },
    {
      name: 'address types by route (fib)',
      option: 'CONFIG_NFT_FIB_IPV4/IPV6',
      objects: [filter, rule(match(fibDaddrType, 'local'), drop)],
    },
    {
      name: 'random choice (numgen)',
      option: 'CONFIG_NFT_NUMGEN',
      objects: [
        filter,
        rule({
          kind: 'vmap',
          key: [numgenRandom(2)],
          map: {
            verdicts: [
              [0, 'accept'],
              [1, 'drop'],
            ],
          },
        }),
      ],
    },
    {
      name: 'destination by map (nat with addresses and ports)',
      option: 'CONFIG_NFT_NAT',
      objects: [
        dnatHook,
        endpoints,
        rule(
          { kind: 'match', left: [metaL4proto], op: '==', right: { values: ['tcp', 'udp'] } },
          { kind: 'dnat', to: { key: [...key, numgenRandom(2)], map: { set: endpoints.name } } },
        ),
      ],
    },
    {
      name: 'masquerade',
      option: 'CONFIG_NFT_MASQ',
      objects: [
        postrouting,
        rule(
          { kind: 'match', left: [metaMark], mask: 0x4000, op: '!=', right: 0 },
          { kind: 'mark', op: 'xor', value: 0x4000 },
          { kind: 'masquerade', flags: ['fully-random'] },
        ),
      ],
    },
    { name: 'reject', option: 'CONFIG_NFT_REJECT', objects: [filter, rule({ kind: 'reject' })] },
    {
      name: 'sets filled by rules, with timeouts (for session affinity)',
      option: 'CONFIG_NF_TABLES',
      objects: [
        dnatHook,
        affinity,
        rule({ kind: 'update', op: 'update', set: affinity.name, key: [saddr(family)] }),
      ],
    },
    {
      name: 'interval sets (for source ranges)',
      option: 'CONFIG_NF_TABLES',
      objects: [
        filter,
        rule(
          {
            kind: 'match',
            left: [saddr(family)],
            op: '!=',
            right: {
              values: family === 'ip' ? ['10.0.0.0/8', '192.168.0.0/16'] : ['fd00::/8', '2001:db8::/32'],
            },
          },
          drop,
        ),
      ],
    },
  ];
}
