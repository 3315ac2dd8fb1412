import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** The two modes of the proxy that scenarios are replayed for here. */
export type ReplayMode = 'nftables' | 'iptables';

export interface ObjectReference {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** A Kubernetes object as the scenario spells it. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

export type SourceKind = 'preserved' | 'node';

/** How a mode answers a probe, see test/scenarios/README.md. A word alone: all requests failed that way. */
export type Expectation = string | AnsweredExpectation | StickyExpectation | HttpExpectation;

export interface AnsweredExpectation {
  readonly endpoints: readonly string[];
  readonly source: SourceKind | Readonly<Record<string, SourceKind>>;
  readonly errors?: readonly string[];
}

export interface StickyExpectation {
  readonly oneOf: readonly string[];
  readonly source: SourceKind | Readonly<Record<string, SourceKind>>;
}

export interface HttpExpectation {
  readonly status: number;
  readonly body?: unknown;
  readonly weight?: string;
}

export interface Probe {
  readonly from: string;
  readonly to: string;
  readonly proto?: 'tcp' | 'udp' | 'http';
  readonly path?: string;
  readonly count: number;
  readonly gap?: number;
  readonly serial?: boolean;
  readonly conn?: string;
  readonly sticky?: string;
  readonly share?: number;
  readonly body?: boolean;
  readonly accept?: readonly Expectation[];
  readonly note?: string;
  readonly expect: Readonly<Record<string, Expectation>>;
}

export interface ScenarioStep {
  readonly about?: string;
  readonly proxy?: 'stop' | 'start' | 'restart';
  readonly mode?: 'other';
  readonly apply?: readonly KubeObject[];
  readonly patch?: readonly (ObjectReference & { readonly patch: unknown })[];
  readonly delete?: readonly ObjectReference[];
  readonly probes: readonly Probe[];
}

export interface Scenario {
  readonly name: string;
  readonly about: string;
  /** Ours, not recorded: what the expectations follow from. */
  readonly derived?: string;
  readonly modes: readonly string[];
  readonly node?: { readonly labels?: Readonly<Record<string, string>> };
  readonly config?: Readonly<Record<string, unknown>>;
  readonly objects: readonly KubeObject[];
  readonly probes: readonly Probe[];
  readonly steps?: readonly ScenarioStep[];
}

/** The recorded scenarios. */
export const SCENARIO_DIRECTORY = new URL('../../scenarios/', import.meta.url);
/** Our own, with expectations derived from the reference. */
export const DERIVED_DIRECTORY = new URL('../../scenarios-derived/', import.meta.url);

/** Files beside the scenarios that are none. */
const OTHER_FILES = new Set(['exceptions.yaml']);

/** All scenarios of a directory for a mode, in the order of their names. Throws as {@link loadScenario} does. */
export function loadScenarios(mode: ReplayMode, directory = SCENARIO_DIRECTORY): Scenario[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith('.yaml') && !OTHER_FILES.has(file))
    .sort()
    .map((file) => loadScenario(file.slice(0, -'.yaml'.length), directory))
    .filter((scenario) => scenario.modes.includes(mode));
}

/** Throws when there is no such file, or when the file does not have the name it states. */
export function loadScenario(name: string, directory = SCENARIO_DIRECTORY): Scenario {
  const scenario = parse(readFileSync(new URL(`${name}.yaml`, directory), 'utf8')) as Scenario;
  if (scenario.name !== name) throw new Error(`${name}.yaml: the scenario in it is named ${scenario.name}`);
  return scenario;
}
