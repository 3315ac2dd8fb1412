import { FairleadError } from '../../base/fairlead-error.ts';
import { EBUSY, EEXIST, ENOENT } from '../native/errno.ts';

/** One operation of a transaction the kernel refused. */
export interface FailedOperation {
  /** Position in the transaction, from 0. */
  readonly index: number;
  /** The operation in nft syntax; long element lists are cut to the failing message's first rows. */
  readonly text: string;
  /** Linux errno, e.g. 17 for EEXIST. */
  readonly errno: number;
  /** The kernel's extended-ack text, when it sent one. */
  readonly message?: string;
  /** Offset of the attribute at fault in the failing message, when the kernel named one. */
  readonly offset?: number;
}

/** What went wrong between us and nf_tables. */
export type NftablesErrorDetail =
  /**
   * The kernel refused the transaction; nothing was changed. `failed` is empty when each operation is fine but the
   * outcome is not, e.g. chains that lead back to themselves.
   */
  | {
      readonly code: 'NFT_OPERATION_FAILED';
      readonly family: string;
      readonly table: string;
      readonly errno: number;
      readonly failed: readonly FailedOperation[];
    }
  /** The ruleset is not at the generation the transaction was written for (ERESTART). */
  | { readonly code: 'NFT_GENERATION_CHANGED'; readonly expected: number }
  /** Not allowed: CAP_NET_ADMIN in the network namespace's user namespace is missing. */
  | { readonly code: 'NFT_PERMISSION_DENIED' }
  /** The kernel has no nf_tables, or not for this family. */
  | { readonly code: 'NFT_NOT_SUPPORTED'; readonly family: string; readonly errno: number }
  /** nf_tables is there but lacks something the dataplane needs. */
  | { readonly code: 'NFT_FEATURE_MISSING'; readonly family: string; readonly missing: readonly string[] }
  /** A dump was interrupted by changes again and again. */
  | { readonly code: 'NFT_DUMP_UNSTABLE'; readonly what: string; readonly attempts: number }
  /** The kernel's answer to a transaction was lost: it may or may not have been applied. */
  | { readonly code: 'NFT_OUTCOME_UNKNOWN'; readonly family: string; readonly table: string }
  /** A value in a noun or statement is none, e.g. an address that does not parse. */
  | { readonly code: 'NFT_VALUE_INVALID'; readonly path: string; readonly value: string };

/** Raised by {@link Transaction}, {@link NftablesConnection} and the fake kernel. */
export class NftablesError extends FairleadError<NftablesErrorDetail> {}

/** An {@link NftablesError} for a value that is none. */
export function invalidValue(path: string, value: unknown, expected: string): NftablesError {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return new NftablesError(
    { code: 'NFT_VALUE_INVALID', path, value: String(value) },
    `${path}: ${text} is not ${expected}`,
  );
}

/** Whether the kernel answered that an object of the transaction, or what it refers to, does not exist (ENOENT). */
export const isNotFound = (error: unknown): boolean => hasErrno(error, ENOENT);

/** Whether the kernel answered that an object exists already, perhaps with other contents (EEXIST). */
export const isAlreadyExists = (error: unknown): boolean => hasErrno(error, EEXIST);

/** Whether the kernel answered that an object is still in use (EBUSY). */
export const isBusy = (error: unknown): boolean => hasErrno(error, EBUSY);

function hasErrno(error: unknown, errno: number): boolean {
  return (
    error instanceof NftablesError &&
    error.detail.code === 'NFT_OPERATION_FAILED' &&
    error.detail.errno === errno
  );
}
