import { describe, expect, test } from 'vitest';
import { ConfigError } from './config-error.ts';
import { featureGateDependencies, featureGateGroups } from './feature-gate-list.ts';
import { resolveFeatureGates } from './feature-gates.ts';

function refusal(configured: Record<string, boolean>): { gates: readonly string[]; message: string } {
  try {
    resolveFeatureGates(configured);
  } catch (error) {
    if (error instanceof ConfigError && error.detail.code === 'CONFIG_FEATURE_GATES_INVALID') {
      return { gates: error.detail.gates, message: error.message };
    }
  }
  throw new Error('not refused');
}

describe('feature gates (operations 1.6, 9.1)', () => {
  test('the list is complete and without doubles', () => {
    const names = featureGateGroups.flatMap((group) => group.names);
    expect(featureGateGroups.map((group) => group.names.length)).toEqual([48, 11, 91, 8, 2, 4, 2, 5, 68]);
    expect(new Set(names).size).toBe(names.length);
    const needed = Object.entries(featureGateDependencies).flat(2);
    expect(needed.filter((name) => !names.includes(name))).toEqual([]);
  });

  test('the defaults are those of 1.36', () => {
    const gates = resolveFeatureGates({});
    expect(gates.enabled('AllowServiceExternalIPs')).toBe(true);
    expect(gates.enabled('WatchListClient')).toBe(true);
    expect(gates.enabled('NativeHistograms')).toBe(false);
    expect(gates.enabled('LoggingAlphaOptions')).toBe(false);
    expect(gates.list()).toHaveLength(241);
    expect(gates.list().find(({ name }) => name === 'NFTablesProxyMode')).toEqual({
      name: 'NFTablesProxyMode',
      stage: '',
      enabled: true,
    });
    expect(gates.warnings).toEqual([]);
  });

  test('AllAlpha and AllBeta set their stage, gates named on their own win', () => {
    const alpha = resolveFeatureGates({ AllAlpha: true, NativeHistograms: false });
    expect(alpha.enabled('LoggingAlphaOptions')).toBe(true);
    expect(alpha.enabled('NativeHistograms')).toBe(false);
    const beta = resolveFeatureGates({ AllBeta: false, ComponentFlagz: true });
    expect(beta.enabled('WatchListClient')).toBe(false);
    expect(beta.enabled('ComponentFlagz')).toBe(true);
    expect(beta.enabled('AllowServiceExternalIPs')).toBe(true);
    expect(beta.list().find(({ name }) => name === 'AllBeta')?.enabled).toBe(false);
  });

  test('unknown and locked gates are refused, all at once', () => {
    const { gates, message } = refusal({
      Bogus: true,
      NFTablesProxyMode: false,
      toString: true,
      ComponentFlagz: false,
    });
    expect(gates).toEqual(['Bogus', 'NFTablesProxyMode', 'toString']);
    expect(message).toContain('unrecognized feature gate: Bogus');
    expect(message).toContain('NFTablesProxyMode is locked to true');
  });

  test('a locked gate may be set to its own value, with a warning', () => {
    expect(resolveFeatureGates({ NFTablesProxyMode: true }).warnings).toHaveLength(1);
    expect(resolveFeatureGates({ ComponentFlagz: false }).warnings).toHaveLength(0);
  });

  test('a gate that is on while one it needs is off is refused', () => {
    expect(refusal({ GracefulNodeShutdown: false }).gates).toEqual([
      'GracefulNodeShutdownBasedOnPodPriority',
      'WindowsGracefulNodeShutdown',
    ]);
    expect(refusal({ GangScheduling: true }).message).toContain('GenericWorkload');
    resolveFeatureGates({ GangScheduling: true, GenericWorkload: true });
    resolveFeatureGates({ AllBeta: false });
    expect(refusal({ AllAlpha: true, AllBeta: false }).gates).toEqual(['StorageVersionAPI']);
  });
});
