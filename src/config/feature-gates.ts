import { ConfigError } from './config-error.ts';
import { type FeatureStage, featureGateDependencies, featureGateGroups } from './feature-gate-list.ts';

/** The gates that change what this program does (operations 1.6). */
export type UsedFeatureGate =
  | 'AllowServiceExternalIPs'
  | 'PreferSameTrafficDistribution'
  | 'MultiCIDRServiceAllocator'
  | 'NFTablesProxyMode'
  | 'ComponentFlagz'
  | 'ComponentStatusz'
  | 'NativeHistograms'
  | 'CBORServingAndStorage'
  | 'LoggingAlphaOptions'
  | 'LoggingBetaOptions'
  | 'ContextualLogging'
  | 'WatchListClient';

export interface FeatureGateState {
  readonly name: string;
  readonly stage: FeatureStage;
  readonly enabled: boolean;
}

/** The feature gates in force. */
export interface FeatureGates {
  enabled(name: UsedFeatureGate): boolean;
  /** Every known gate in alphabetical order, `AllAlpha` and `AllBeta` included; for metrics and help. */
  list(): readonly FeatureGateState[];
  /** What the operator should know: gates that are about to disappear, given without need. */
  readonly warnings: readonly string[];
}

interface Gate {
  readonly stage: FeatureStage;
  readonly default: boolean;
  readonly locked: boolean;
}

const known: ReadonlyMap<string, Gate> = new Map([
  ['AllAlpha', { stage: 'ALPHA', default: false, locked: false }],
  ['AllBeta', { stage: 'BETA', default: false, locked: false }],
  ...featureGateGroups.flatMap(({ names, ...gate }) => names.map((name): [string, Gate] => [name, gate])),
]);

/**
 * Settles the gates from the configured map (operations 1.6). A gate named on its own wins over `AllAlpha` and `AllBeta`.
 * Throws {@link ConfigError} `CONFIG_FEATURE_GATES_INVALID` naming all gates that are unknown, locked to the other value,
 * or on while a gate they need is off.
 */
export function resolveFeatureGates(configured: Readonly<Record<string, boolean>>): FeatureGates {
  const faults: { gate: string; message: string }[] = [];
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(configured)) {
    const gate = known.get(name);
    if (gate === undefined) faults.push({ gate: name, message: `unrecognized feature gate: ${name}` });
    else if (gate.locked && value !== gate.default) {
      faults.push({
        gate: name,
        message: `feature gate ${name} is locked to ${gate.default} and cannot be set to ${value}`,
      });
    } else if (gate.stage === '' || gate.stage === 'DEPRECATED') {
      const state = gate.stage === '' ? 'generally available' : 'deprecated';
      warnings.push(`feature gate ${name}=${value} is ${state} and will be refused in a later release`);
    }
  }
  const states = new Map([...known].map(([name, gate]) => [name, effective(name, gate, configured)]));
  for (const [name, needed] of Object.entries(featureGateDependencies)) {
    const missing = needed.filter((other) => states.get(other) !== true);
    if (states.get(name) === true && missing.length > 0) {
      faults.push({
        gate: name,
        message: `feature gate ${name} is on, but needs ${missing.join(', ')}, which is off`,
      });
    }
  }
  if (faults.length > 0) {
    const detail = {
      code: 'CONFIG_FEATURE_GATES_INVALID',
      gates: faults.map((fault) => fault.gate),
    } as const;
    throw new ConfigError(detail, faults.map((fault) => fault.message).join('; '));
  }
  return {
    enabled: (name) => states.get(name) === true,
    list: () =>
      [...states.keys()].toSorted().map((name) => ({
        name,
        stage: known.get(name)?.stage ?? '',
        enabled: states.get(name) === true,
      })),
    warnings,
  };
}

function effective(name: string, gate: Gate, configured: Readonly<Record<string, boolean>>): boolean {
  const own = Object.hasOwn(configured, name) ? configured[name] : undefined;
  if (own !== undefined) return own;
  // Not the meta gates themselves: they report what was asked for.
  if (name === 'AllAlpha' || name === 'AllBeta') return gate.default;
  const meta = gate.stage === 'ALPHA' ? 'AllAlpha' : gate.stage === 'BETA' ? 'AllBeta' : undefined;
  const group = meta !== undefined && Object.hasOwn(configured, meta) ? configured[meta] : undefined;
  return group ?? gate.default;
}
