import type { NodeBed } from './node-bed.ts';

/** All that iptables-save prints of both families through one back-end, without comments and counters. */
export async function iptablesLines(bed: NodeBed, backend: 'nft' | 'legacy'): Promise<string[]> {
  const texts = await Promise.all(
    ['iptables', 'ip6tables'].map((program) =>
      bed.run(['env', `XTABLES_LOCKFILE=${bed.lockFile}`, `${program}-${backend}-save`]),
    ),
  );
  return texts
    .join('')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.replace(/ \[\d+:\d+\]$/, ''));
}

/** Lines of {@link iptablesLines} that name a chain of kube-proxy. */
export async function ownIptablesLines(bed: NodeBed, backend: 'nft' | 'legacy'): Promise<string[]> {
  return (await iptablesLines(bed, backend)).filter((line) => /KUBE-/.test(line));
}
