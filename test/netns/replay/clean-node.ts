import type { Testbed } from '../testbed/testbed.ts';

/** Leaves the namespace `node1` as a proxy finds a new node: no rules, no tracked connections, default sysctls. */
export async function cleanNode(bed: Testbed): Promise<void> {
  const node = bed.agent('node1');
  await bed.resetConnections();
  await bed.run('node1', ['nft', 'flush', 'ruleset']);
  for (const family of ['ip', 'ip6'] as const) await emptyLegacyTables(bed, family);
  await node.setSysctls({ 'net.ipv4.conf.all.route_localnet': 0 });
  await node.flushConntrack();
}

/** The tables of xtables-legacy are not part of the nftables ruleset; they exist only where something used them. */
async function emptyLegacyTables(bed: Testbed, family: 'ip' | 'ip6'): Promise<void> {
  const tables = await bed.agent('node1').readFile(`/proc/net/${family}_tables_names`);
  if (tables === null || tables.trim() === '') return;
  const restore = family === 'ip' ? 'iptables-legacy-restore' : 'ip6tables-legacy-restore';
  const chains = {
    filter: ['INPUT', 'FORWARD', 'OUTPUT'],
    nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
    mangle: ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'],
    raw: ['PREROUTING', 'OUTPUT'],
    security: ['INPUT', 'FORWARD', 'OUTPUT'],
  } as Record<string, readonly string[]>;
  const lines = tables
    .split('\n')
    .filter(Boolean)
    .flatMap((table) => [
      `*${table}`,
      ...(chains[table] ?? []).map((chain) => `:${chain} ACCEPT [0:0]`),
      'COMMIT',
    ]);
  await bed.run('node1', [restore, '--wait'], `${lines.join('\n')}\n`);
}
