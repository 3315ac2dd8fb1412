import type { Registry } from './registry.ts';
import { ScrapeMetric } from './scrape-metric.ts';

/** What `kubernetes_build_info` says of a build; `goVersion` names the run-time, whatever it is. */
export interface BuildInfo {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  readonly goVersion: string;
  readonly compiler: string;
  readonly platform: string;
}

/** Registers `kubernetes_build_info`. */
export function registerBuildInfo(registry: Registry, build: BuildInfo): void {
  const labels = {
    major: build.major,
    minor: build.minor,
    git_version: build.gitVersion,
    git_commit: build.gitCommit,
    git_tree_state: build.gitTreeState,
    build_date: build.buildDate,
    go_version: build.goVersion,
    compiler: build.compiler,
    platform: build.platform,
  };
  const options = {
    name: 'kubernetes_build_info',
    help: '[ALPHA] Always 1; the labels tell from what this was built',
    type: 'gauge' as const,
    labels: Object.keys(labels) as (keyof typeof labels)[],
  };
  registry.register(new ScrapeMetric(options, () => [[labels, 1]]));
}

/** A feature gate as it is set in this process. */
export interface FeatureGateState {
  readonly name: string;
  /** `''` is a feature that has graduated. */
  readonly stage: 'ALPHA' | 'BETA' | 'DEPRECATED' | '';
  readonly enabled: boolean;
}

/** `kubernetes_feature_enabled`: one series per known gate (operations 5.4). */
export function registerFeatureGates(registry: Registry, gates: readonly FeatureGateState[]): void {
  const options = {
    name: 'kubernetes_feature_enabled',
    help: '[BETA] Feature gates by name and stage: 1 is enabled',
    type: 'gauge' as const,
    labels: ['name', 'stage'] as const,
  };
  registry.register(
    new ScrapeMetric(options, () =>
      gates.map(({ name, stage, enabled }) => [{ name, stage }, enabled ? 1 : 0] as const),
    ),
  );
}
