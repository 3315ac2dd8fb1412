import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { registerBuildInfo, registerFeatureGates } from './component-metrics.ts';
import { FairleadMetrics } from './fairlead-metrics.ts';
import type { Metric } from './metric-family.ts';
import { registerProcessMetrics } from './process-metrics.ts';
import { type MetricsMode, ProxyMetrics, registerNfacctMetrics } from './proxy-metrics.ts';
import { Registry } from './registry.ts';
import { RestClientMetrics } from './rest-client-metrics.ts';

/** Everything a mode exposes, with a series in each metric. */
async function exposed(mode: MetricsMode): Promise<string[]> {
  const registry = new Registry();
  const groups = { proxy: new ProxyMetrics(), own: new FairleadMetrics(), client: new RestClientMetrics() };
  groups.proxy.register(registry, mode);
  groups.own.register(registry);
  groups.client.register(registry);
  registerProcessMetrics(registry, 0);
  registerBuildInfo(registry, new Proxy({} as never, { get: () => 'x' }));
  registerFeatureGates(registry, [{ name: 'A', stage: '', enabled: true }]);
  if (mode === 'iptables') {
    const source = () => [[{}, 1] as const];
    registerNfacctMetrics(registry, { ctStateInvalidDropped: source, localhostNodePortsAccepted: source });
  }
  groups.own.oldestChangeAge.addSource(() => [[{ ip_family: 'IPv4' }, 0]]);
  groups.own.apiContactAge.addSource(() => [[{ resource: 'services' }, 0]]);
  groups.own.setAside.addSource(() => [{ kind: 'Service', namespace: 'a', name: 'b', reason: 'c' }]);
  const anyLabels = new Proxy({}, { get: () => 'x' });
  for (const group of Object.values(groups)) {
    for (const metric of Object.values(group) as (Metric & { with?: (labels: unknown) => unknown })[]) {
      metric.with?.(anyLabels);
    }
  }
  const families = await registry.gather();
  return families.map(({ name, type, labelNames }) => `${name} ${type} ${labelNames.join(', ')}`);
}

const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
const rows = page
  .split('\n')
  .map((line) => /^\| `(\w+)` \| (\w+) \| ([\w, ]*?) ?\| (\w+) \| \S/.exec(line))
  .filter((match) => match !== null)
  .map(([, name, type, labels, modes]) => ({ text: `${name} ${type} ${labels}`, modes: modes! }));

test.each([
  ['iptables', 'I'],
  ['ipvs', 'V'],
  ['nftables', 'N'],
  ['userspace', 'U'],
] as const)('docs/metrics.md lists what %s mode exposes', async (mode, letter) => {
  const documented = rows.filter(({ modes }) => modes.includes(letter)).map(({ text }) => text);
  expect(await exposed(mode)).toEqual(documented.toSorted());
});
