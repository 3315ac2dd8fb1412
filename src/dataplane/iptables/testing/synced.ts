import { silentLogger } from '../../../base/logger.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { TestCluster } from '../../testing/test-cluster.ts';
import {
  type IptablesOptions,
  IptablesProxier,
  type IptablesProxierDependencies,
} from '../iptables-proxier.ts';
import { FakeIptables } from './fake-iptables.ts';

export const allCounters = async (names: readonly string[]) => new Set(names);

/** A proxier over tables in memory. */
export function testProxier(
  options: Partial<IptablesOptions> = {},
  dependencies: Partial<IptablesProxierDependencies> & { iptables?: FakeIptables } = {},
): { proxier: IptablesProxier; iptables: FakeIptables; clock: FakeClock } {
  const iptables = dependencies.iptables ?? new FakeIptables();
  const clock = new FakeClock();
  const proxier = new IptablesProxier(
    { conntrackTcpBeLiberal: () => false, monitorIntervalMs: 30_000, ...options },
    { clock, logger: silentLogger, ...dependencies, iptables },
  );
  return { proxier, iptables, clock };
}

/** The tables after one full sync of a cluster. */
export async function synced(
  cluster: TestCluster,
  dependencies: Partial<IptablesProxierDependencies> & { iptables?: FakeIptables } = {},
  options: Partial<IptablesOptions> = {},
): Promise<FakeIptables> {
  const { proxier, iptables } = testProxier(options, {
    iptables: new FakeIptables(cluster.settings.family),
    ...dependencies,
  });
  await proxier.sync(cluster.plan(), undefined);
  proxier.close();
  return iptables;
}
