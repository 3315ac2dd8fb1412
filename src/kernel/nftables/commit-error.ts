import { EINVAL, EOPNOTSUPP, EPERM, ERESTART, errnoName } from '../native/errno.ts';
import type { KernelRejection } from '../netlink/netlink-error.ts';
import type { EncodedBatch } from './batch-encoder.ts';
import { type FailedOperation, NftablesError } from './nftables-error.ts';
import { elementLines, operationLines } from './operation-text.ts';
import type { Transaction } from './transaction.ts';

/** Rows of a failing element list that are quoted. */
const QUOTED_ROWS = 3;
const QUOTED_LENGTH = 500;

/**
 * The error for what the kernel refused of a batch. `first` is the number the batch's first message was sent with.
 * The message begins with the operation that failed first and the kernel's words about it.
 */
export function commitError(
  transaction: Transaction,
  batch: EncodedBatch,
  first: number,
  rejections: readonly KernelRejection[],
  expectedGeneration: number | undefined,
): NftablesError {
  const { family, table } = transaction;
  const failed: FailedOperation[] = [];
  for (const rejection of rejections) {
    const origin = batch.origins[rejection.sequence - first + 1];
    if (origin === undefined) {
      // The batch as a whole was refused.
      const error = batchError(rejection, family, expectedGeneration);
      if (error !== undefined) return error;
      continue;
    }
    // One operation may be several messages; the first refusal is the telling one.
    if (failed.at(-1)?.index === origin.operation) continue;
    failed.push({
      index: origin.operation,
      text: quoteOperation(transaction, origin.operation, origin.from),
      errno: rejection.errno,
      ...(rejection.message === undefined ? {} : { message: rejection.message }),
      ...(rejection.offset === undefined ? {} : { offset: rejection.offset }),
    });
  }
  const [cause] = failed;
  const errno = cause?.errno ?? rejections[0]?.errno ?? EINVAL;
  // What this process lacks is said of the batch; of an operation it is that another process owns the table (flag `owner`).
  const reason = errno === EPERM ? 'another process owns the table' : cause?.message;
  const said = reason === undefined ? '' : `: ${reason}`;
  const others = failed.length > 1 ? ` (and ${failed.length - 1} more operations)` : '';
  return new NftablesError(
    { code: 'NFT_OPERATION_FAILED', family, table, errno, failed },
    `table ${family} ${table}: kernel answered ${errnoName(errno)}${said} to: ${cause?.text ?? 'the batch'}${others}`,
  );
}

export const permissionDenied = (cause?: unknown): NftablesError =>
  new NftablesError(
    { code: 'NFT_PERMISSION_DENIED' },
    'nftables: not permitted; CAP_NET_ADMIN is needed in this network namespace',
    cause === undefined ? undefined : { cause },
  );

export const notSupported = (family: string, errno: number, cause?: unknown): NftablesError =>
  new NftablesError(
    { code: 'NFT_NOT_SUPPORTED', family, errno },
    `nftables: the kernel has no nf_tables for family ${family} (${errnoName(errno)})`,
    cause === undefined ? undefined : { cause },
  );

function batchError(
  { errno }: KernelRejection,
  family: string,
  expected: number | undefined,
): NftablesError | undefined {
  if (errno === EPERM) return permissionDenied();
  if (errno === EOPNOTSUPP) return notSupported(family, errno);
  if (errno === ERESTART && expected !== undefined) {
    return new NftablesError(
      { code: 'NFT_GENERATION_CHANGED', expected },
      `nftables: the ruleset is no longer at generation ${expected}: somebody else changed it`,
    );
  }
  return undefined;
}

/** The operation as one line of nft syntax, cut to a readable length. */
export function quoteOperation(transaction: Transaction, index: number, fromRow?: number): string {
  const operation = transaction.operations[index];
  if (operation === undefined) return `operation ${index}`;
  const { family, table } = transaction;
  let text: string | undefined;
  if (operation.object.kind === 'elements' && fromRow !== undefined) {
    const { rows } = operation.object;
    const to = Math.min(rows.count, fromRow + QUOTED_ROWS);
    text = elementLines(operation.verb, operation.object, `${family} ${table}`, fromRow, to)[0];
    if (to < rows.count) text = text?.replace(/ }$/, ', … }');
  } else {
    text = operationLines(operation, family, table)[0];
  }
  if (text === undefined) return `operation ${index}`;
  return text.length > QUOTED_LENGTH ? `${text.slice(0, QUOTED_LENGTH)}…` : text;
}
