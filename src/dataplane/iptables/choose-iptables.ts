import { describeError } from '../../base/fairlead-error.ts';
import type { IpFamily } from '../../base/ip.ts';
import type { Logger } from '../../base/logger.ts';
import { type Iptables, openIptables, type TableSurvey } from '../../kernel/iptables/iptables.ts';
import { IptablesError } from '../../kernel/iptables/iptables-error.ts';
import type { IptablesBackend } from '../../kernel/iptables/iptables-version.ts';
import { processRunner, type RunProgram } from '../../kernel/iptables/run-program.ts';
import { hasLeftovers } from './cleanup.ts';

/** The back-end to write to, and those beside it. */
export interface ChosenIptables {
  readonly iptables: Iptables;
  /** For log lines. */
  readonly reason: string;
  /** Other back-ends that are installed. */
  readonly others: readonly Iptables[];
  /** Those of them that hold chains of ours: what they say applies too, so they should be cleaned up. */
  readonly withLeftovers: readonly Iptables[];
  /** Whether chains of kube-proxy's ipvs mode may be in the chosen back-end. */
  readonly mayHaveIpvsLeftovers: boolean;
}

/** Chains by which kubelet shows which back-end the host uses. */
const hostHints = ['KUBE-IPTABLES-HINT', 'KUBE-KUBELET-CANARY'];

/**
 * Opens iptables on the back-end that this host uses: the one with kubelet's hint; else the one that holds our own
 * chains; else the one that has rules at all; else the one that plain `iptables` stands for. A mark that both carry
 * decides nothing. Throws IptablesError where no iptables can be run.
 */
export async function chooseIptables(
  family: IpFamily,
  dependencies: { readonly run?: RunProgram; readonly logger: Logger },
): Promise<ChosenIptables> {
  const run = dependencies.run ?? processRunner();
  const preferred = await openIptables({ family, run }).catch(ignoreMissing);
  const found: { readonly iptables: Iptables; readonly survey: TableSurvey }[] = [];
  for (const backend of ['nft', 'legacy'] as const) {
    const iptables = await openIptables({ family, backend, run }).catch(ignoreMissing);
    if (iptables?.backend !== backend) continue;
    const survey = await iptables.survey().catch((error: unknown): TableSurvey => {
      dependencies.logger.warn('Cannot look at the iptables rules', { backend, err: describeError(error) });
      return { chains: new Map(), builtInRules: new Map(), rules: 0 };
    });
    found.push({ iptables, survey });
  }
  const backend = preferred?.backend ?? found[0]?.iptables.backend;
  if (backend === undefined) {
    const program = family === 'IPv4' ? 'iptables' : 'ip6tables';
    const detail = { code: 'IPTABLES_NOT_STARTED', program, reason: 'it is not installed' } as const;
    throw new IptablesError(detail, `cannot run ${program}: it is not installed`);
  }
  const { chosen, reason } = decide(
    new Map(found.map((entry) => [entry.iptables.backend, entry.survey])),
    backend,
  );
  const iptables =
    chosen === preferred?.backend
      ? preferred
      : found.find((entry) => entry.iptables.backend === chosen)!.iptables;
  const own = found.find((entry) => entry.iptables.backend === chosen)?.survey;
  const beside = found.filter((entry) => entry.iptables.backend !== chosen);
  return {
    iptables,
    reason,
    others: beside.map((entry) => entry.iptables),
    withLeftovers: beside.filter((entry) => hasLeftovers(entry.survey)).map((entry) => entry.iptables),
    mayHaveIpvsLeftovers: own === undefined || hasLeftovers(own, 'ipvs mode'),
  };
}

function decide(
  surveys: ReadonlyMap<IptablesBackend, TableSurvey>,
  preferred: IptablesBackend,
): { chosen: IptablesBackend; reason: string } {
  const marks: readonly (readonly [string, (survey: TableSurvey) => boolean])[] = [
    ['kubelet uses it', hasHint],
    ['it holds our rules', hasLeftovers],
    ['it holds the rules of this host', (survey) => survey.rules > 0],
  ];
  for (const [reason, holds] of marks) {
    const marked = [...surveys].filter(([, survey]) => holds(survey));
    if (marked.length === 1) return { chosen: marked[0]![0], reason };
  }
  return { chosen: preferred, reason: 'it is what iptables stands for on this host' };
}

function hasHint({ chains }: TableSurvey): boolean {
  return chains.get('mangle')?.some((chain) => hostHints.includes(chain)) ?? false;
}

function ignoreMissing(error: unknown): undefined {
  if (error instanceof IptablesError && error.detail.code === 'IPTABLES_NOT_STARTED') return undefined;
  throw error;
}
