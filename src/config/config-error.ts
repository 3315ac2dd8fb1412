import { FairleadError } from '../base/fairlead-error.ts';
import type { FieldError } from './field-error.ts';
import { describeFieldErrors } from './field-error.ts';

/** Something wrong at a place in the configuration file. `line` counts from 1; `field` is the path by JSON names, `''` for the file. */
export interface FileFault {
  readonly line: number;
  readonly field: string;
  readonly message: string;
}

export type ConfigErrorDetail =
  | { readonly code: 'CONFIG_FLAG_INVALID'; readonly flag: string }
  | { readonly code: 'CONFIG_FILE_UNREADABLE'; readonly file: string }
  | { readonly code: 'CONFIG_FILE_UNDECODABLE'; readonly file: string; readonly faults: readonly FileFault[] }
  | { readonly code: 'CONFIG_FEATURE_GATES_INVALID'; readonly gates: readonly string[] }
  | {
      readonly code: 'CONFIG_HOSTNAME_EMPTY';
      readonly origin: '--hostname-override' | 'hostnameOverride' | 'kernel';
    }
  | { readonly code: 'CONFIG_LOGGING_INVALID'; readonly fieldErrors: readonly FieldError[] }
  | { readonly code: 'CONFIG_INVALID'; readonly fieldErrors: readonly FieldError[] }
  | { readonly code: 'CONFIG_UNWRITABLE'; readonly file: string }
  | { readonly code: 'CONFIG_FILE_CHANGED'; readonly file: string }
  | { readonly code: 'CONFIG_FILE_UNWATCHABLE'; readonly file: string };

/** Flags or a configuration file that cannot be used. The message names every field at fault. */
export class ConfigError extends FairleadError<ConfigErrorDetail> {
  static flag(flag: string, message: string): ConfigError {
    return new ConfigError({ code: 'CONFIG_FLAG_INVALID', flag }, message);
  }

  static undecodable(file: string, faults: readonly FileFault[]): ConfigError {
    const detail = { code: 'CONFIG_FILE_UNDECODABLE', file, faults } as const;
    return new ConfigError(
      detail,
      `failed to decode: ${faults.map((fault) => describeFault(file, fault)).join('; ')}`,
    );
  }

  static invalid(
    code: 'CONFIG_LOGGING_INVALID' | 'CONFIG_INVALID',
    fieldErrors: readonly FieldError[],
  ): ConfigError {
    return new ConfigError({ code, fieldErrors }, describeFieldErrors(fieldErrors));
  }
}

/** `FILE:LINE: FIELD: MESSAGE`. */
export function describeFault(file: string, fault: FileFault): string {
  return `${file}:${fault.line}: ${fault.field === '' ? '' : `${fault.field}: `}${fault.message}`;
}
