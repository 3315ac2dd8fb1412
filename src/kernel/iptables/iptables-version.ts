import type { IpFamily } from '../../base/ip.ts';

/** Which part of the kernel a program writes to: the old xtables tables, or nftables through its compatible form. */
export type IptablesBackend = 'nft' | 'legacy';

/** What `iptables --version` says. */
export interface IptablesVersion {
  readonly text: string;
  readonly backend: IptablesBackend;
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** What a version can do (spec B.2.4). */
export interface IptablesFeatures {
  /** `MASQUERADE --random-fully`. */
  readonly randomFully: boolean;
  /** Arguments that make iptables wait for the xtables lock. */
  readonly wait: readonly string[];
  /** The same for iptables-restore. */
  readonly restoreWait: readonly string[];
}

/** Reads the first `vX.Y[.Z]` of the output of `--version`; `undefined` where there is none. */
export function parseIptablesVersion(output: string): IptablesVersion | undefined {
  const match = /v(\d+)\.(\d+)(?:\.(\d+))?/.exec(output);
  if (match === null) return undefined;
  return {
    text: match[0],
    // Programs from before 1.8 know one back-end only and do not name it.
    backend: output.includes('nf_tables') ? 'nft' : 'legacy',
    major: Number(match[1]),
    minor: Number(match[2]),
    patch: Number(match[3] ?? 0),
  };
}

/**
 * The features of a version; none for an unknown one. `-W` shortens the polling interval for the lock from one second
 * to 100 ms; from 1.8.8 on the programs sleep until the lock is free and warn about the option.
 */
export function iptablesFeatures(version: IptablesVersion | undefined): IptablesFeatures {
  if (version === undefined) return { randomFully: false, wait: [], restoreWait: [] };
  const interval = isAtLeast(version, 1, 8, 8) ? [] : ['-W', '100000'];
  const modern = isAtLeast(version, 1, 6, 2);
  const wait = isAtLeast(version, 1, 4, 22) ? ['-w', '5'] : isAtLeast(version, 1, 4, 20) ? ['-w'] : [];
  return {
    randomFully: modern,
    wait: modern ? [...wait, ...interval] : wait,
    restoreWait: modern ? ['-w', '5', ...interval] : [],
  };
}

/** Whether `version` is `major.minor.patch` or later. */
function isAtLeast(version: IptablesVersion, major: number, minor: number, patch: number): boolean {
  if (version.major !== major) return version.major > major;
  if (version.minor !== minor) return version.minor > minor;
  return version.patch >= patch;
}

/** The three programs of one family and back-end. */
export interface IptablesPrograms {
  readonly iptables: string;
  readonly restore: string;
  readonly save: string;
}

/** Names of the programs; without a back-end those that the distribution has chosen. */
export function iptablesPrograms(family: IpFamily, backend?: IptablesBackend): IptablesPrograms {
  const stem = family === 'IPv4' ? 'iptables' : 'ip6tables';
  const name = backend === undefined ? stem : `${stem}-${backend}`;
  return { iptables: name, restore: `${name}-restore`, save: `${name}-save` };
}
