import { readFileSync, writeFileSync } from 'node:fs';
import { FairleadError } from '../../base/fairlead-error.ts';

export type SysctlErrorDetail =
  | { readonly code: 'SYSCTL_READ_FAILED'; readonly path: string; readonly errno: string }
  | {
      readonly code: 'SYSCTL_WRITE_FAILED';
      readonly path: string;
      readonly value: string;
      readonly errno: string;
    };

/** Why a kernel setting could not be read or made. */
export class SysctlError extends FairleadError<SysctlErrorDetail> {}

/** Kernel settings as files: `/proc/sys`, and module parameters under `/sys`. Paths are absolute. */
export interface Sysctls {
  /** The value without the final newline. Throws SysctlError. */
  read(path: string): string;
  /** Throws SysctlError. */
  write(path: string, value: string): void;
}

export const hostSysctls: Sysctls = {
  read(path) {
    try {
      return readFileSync(path, 'utf8').trim();
    } catch (cause) {
      throw new SysctlError(
        { code: 'SYSCTL_READ_FAILED', path, errno: errnoName(cause) },
        `cannot read ${path}`,
        { cause },
      );
    }
  },
  write(path, value) {
    try {
      writeFileSync(path, value);
    } catch (cause) {
      const detail = { code: 'SYSCTL_WRITE_FAILED', path, value, errno: errnoName(cause) } as const;
      throw new SysctlError(detail, `cannot write ${value} to ${path}`, { cause });
    }
  },
};

function errnoName(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? code : 'unknown';
}
