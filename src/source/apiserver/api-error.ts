import { FairleadError } from '../../base/fairlead-error.ts';
import type { Status } from '../../kube/status.ts';

/** Why a request to the API server did not bring what it should. `path` is without the server's address. */
export type ApiErrorDetail =
  /** The server refused: an HTTP error status, or a Status in a watch. */
  | {
      readonly code: 'API_STATUS';
      readonly path: string;
      /** HTTP status; for an ERROR event the code of its Status. */
      readonly httpStatus: number;
      readonly status: Status;
      /** From the header `Retry-After` or the Status; undefined where neither says. */
      readonly retryAfterMs: number | undefined;
    }
  /** No connection, TLS failure, or the connection was cut. */
  | { readonly code: 'API_CONNECTION'; readonly path: string; readonly server: string }
  /** Nothing arrived for this long. */
  | { readonly code: 'API_SILENT'; readonly path: string; readonly milliseconds: number }
  /** An answer in a format that was not asked for. */
  | { readonly code: 'API_CONTENT_TYPE'; readonly path: string; readonly contentType: string }
  /** A watch that ended at once without an event, or versions that went backwards. */
  | { readonly code: 'API_WATCH_ENDED_EARLY'; readonly path: string }
  | { readonly code: 'API_HISTORY_RESET'; readonly path: string; readonly from: string; readonly to: string };

/** Why a request to the API server, or a watch, came to nothing. */
export class ApiError extends FairleadError<ApiErrorDetail> {
  constructor(detail: ApiErrorDetail, options?: ErrorOptions) {
    super(detail, messageOf(detail), options);
  }
}

function messageOf(detail: ApiErrorDetail): string {
  switch (detail.code) {
    case 'API_STATUS':
      return `${detail.path}: ${detail.httpStatus} ${detail.status.reason}: ${detail.status.message}`;
    case 'API_CONNECTION':
      return `${detail.path}: no answer from ${detail.server}`;
    case 'API_SILENT':
      return `${detail.path}: nothing arrived for ${detail.milliseconds / 1000} s`;
    case 'API_CONTENT_TYPE':
      return `${detail.path}: unexpected content type ${JSON.stringify(detail.contentType)}`;
    case 'API_WATCH_ENDED_EARLY':
      return `${detail.path}: the watch ended at once`;
    case 'API_HISTORY_RESET':
      return `${detail.path}: the server's history went back from version ${detail.from} to ${detail.to}`;
  }
}

/** The HTTP status of an answer, or undefined where there was none. */
export function httpStatusOf(error: unknown): number | undefined {
  return error instanceof ApiError && error.detail.code === 'API_STATUS'
    ? error.detail.httpStatus
    : undefined;
}

/** The version asked for is compacted: status 410, or reason `Expired` or `Gone` (apimachinery IsResourceExpired, IsGone). */
export function isExpired(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.detail.code !== 'API_STATUS') return false;
  const { httpStatus, status } = error.detail;
  return httpStatus === 410 || status.code === 410 || status.reason === 'Expired' || status.reason === 'Gone';
}

/** The server does not know the version asked for yet, or never will after a restore (apimachinery, 504 with this cause). */
export function isTooLargeVersion(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.detail.code !== 'API_STATUS') return false;
  const { status } = error.detail;
  return (
    status.causes.includes('ResourceVersionTooLarge') ||
    (status.reason === 'Timeout' && status.message.includes('Too large resource version'))
  );
}
