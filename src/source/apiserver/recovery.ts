import { DecodeError } from '../../kube/decode-error.ts';
import { ApiError, httpStatusOf, isExpired, isTooLargeVersion } from './api-error.ts';
import { CredentialsError } from './credentials-error.ts';

/** What a reflector was doing when it failed. */
export interface Attempt {
  /** Everything was being asked for, by a list or a watch. */
  readonly isListing: boolean;
  readonly usesWatchList: boolean;
  /** The server may lack the resource. */
  readonly isOptional: boolean;
  readonly asksForJson: boolean;
  /** A watch was open that had brought no bookmark: a server on which nothing has happened since its start sends none. */
  readonly maybeIdle: boolean;
  /** It happened in an open watch: a status is that of an ERROR event. */
  readonly isStream: boolean;
}

/** How it goes on. */
export interface Recovery {
  readonly message: string;
  /** Ask for everything again, see first whether the server still knows our version, or do again what failed. */
  readonly next: 'list' | 'verify' | 'watch';
  /** Without any delay. Only for what cannot repeat itself. */
  readonly immediately: boolean;
  /** Wait at least this long, whatever the back-off says. */
  readonly minDelayMs: number;
  /** Ask for no particular version. */
  readonly askLatest: boolean;
  /** The server may have been restored from a backup: equal versions do not mean equal objects. */
  readonly distrustVersions: boolean;
  readonly withoutWatchList: boolean;
  /** Ask for everything by pages the next time, whatever comes after that. */
  readonly pagesNext: boolean;
  readonly useJson: boolean;
  /** There is no such resource, so there is nothing to wait for. */
  readonly absent: boolean;
  /** Part of normal operation, not worth a warning. */
  readonly isNormal: boolean;
}

const defaults: Recovery = {
  message: '',
  next: 'watch',
  immediately: false,
  minDelayMs: 0,
  askLatest: false,
  distrustVersions: false,
  withoutWatchList: false,
  pagesNext: false,
  useJson: false,
  absent: false,
  isNormal: false,
};

/** A longer wait is no API server's wish but a mistake, perhaps of a proxy in between. */
const longestRetryAfterMs = 5 * 60_000;
/** How often a server without the ServiceCIDR API is asked again. */
const absentDelayMs = 10 * 60_000;

/** Decides how a reflector goes on after a failure. Pure: the table of operations 3.8 and of client-go's reflector. */
export function recoveryFor(error: unknown, attempt: Attempt): Recovery {
  if (error instanceof DecodeError) return { ...afterDecodeError(error), pagesNext: attempt.usesWatchList };
  if (error instanceof CredentialsError) return { ...defaults, message: 'No credentials for the API server' };
  if (!(error instanceof ApiError))
    return { ...defaults, next: 'verify', message: 'Unexpected failure of the API watch' };
  switch (error.detail.code) {
    case 'API_STATUS':
      // What a server cannot stream it may still be able to list, as client-go tries too.
      return { ...afterStatus(error, attempt), pagesNext: attempt.usesWatchList && isServerTrouble(error) };
    case 'API_CONNECTION':
      return { ...defaults, next: 'verify', message: 'The connection to the API server failed' };
    case 'API_SILENT':
      // Silence where initial events should flow without pause: the server takes no notice of sendInitialEvents.
      return {
        ...defaults,
        next: 'verify',
        withoutWatchList: attempt.usesWatchList,
        isNormal: attempt.maybeIdle,
        message: 'The API server has gone silent',
      };
    case 'API_WATCH_ENDED_EARLY':
      return { ...defaults, next: 'verify', message: 'The API server ended a watch at once' };
    case 'API_HISTORY_RESET':
      return {
        ...defaults,
        next: 'list',
        askLatest: true,
        message: "The API server's history went back (restored from a backup?); reading everything again",
      };
    case 'API_CONTENT_TYPE':
      return { ...defaults, next: 'verify', message: 'The API server answered in an unknown format' };
  }
}

function afterStatus(error: ApiError, attempt: Attempt): Recovery {
  const asked = (error.detail.code === 'API_STATUS' && error.detail.retryAfterMs) || 0;
  const minDelayMs = Math.min(asked, longestRetryAfterMs);
  const httpStatus = httpStatusOf(error);
  if (isExpired(error)) {
    return {
      ...defaults,
      next: 'list',
      // A list that is itself too old asked for a version that is gone.
      askLatest: attempt.isListing,
      minDelayMs,
      isNormal: true,
      message: 'The version to watch from is too old; reading everything again',
    };
  }
  if (isTooLargeVersion(error)) {
    return {
      ...defaults,
      next: 'list',
      askLatest: true,
      distrustVersions: true,
      minDelayMs,
      message: 'The API server has not come as far as our version; reading everything again',
    };
  }
  switch (httpStatus) {
    case 400:
    case 422:
      if (!attempt.usesWatchList) break;
      return {
        ...defaults,
        next: 'list',
        immediately: true,
        withoutWatchList: true,
        isNormal: true,
        message: 'The API server does not stream lists; reading pages',
      };
    case 401:
      return { ...defaults, minDelayMs, message: 'The API server does not accept our credentials (401)' };
    case 403:
      return {
        ...defaults,
        minDelayMs,
        message: 'Our credentials lack a permission (403); see the ClusterRole system:node-proxier',
      };
    case 404:
      if (!attempt.isOptional) break;
      return {
        ...defaults,
        next: 'list',
        absent: true,
        minDelayMs: absentDelayMs,
        isNormal: true,
        message: 'The API server does not have this resource',
      };
    case 406:
    case 415:
      if (attempt.asksForJson) break;
      return {
        ...defaults,
        immediately: true,
        useJson: true,
        isNormal: true,
        message: 'The API server does not speak protobuf; asking for JSON',
      };
  }
  // The event after our version is one that the server cannot send, now or ever: a list passes it by, as client-go's does.
  if (attempt.isStream && httpStatus !== 429) {
    return {
      ...defaults,
      next: 'list',
      minDelayMs,
      message: 'The API server broke off a watch; reading everything again',
    };
  }
  // A server in trouble may be one that is being restored.
  const next = httpStatus !== undefined && httpStatus >= 500 ? 'verify' : 'watch';
  return { ...defaults, next, minDelayMs, message: 'The API server refused a request' };
}

/** Not for the patience that 429 asks for, nor for what a server refuses because of who asks. */
function isServerTrouble(error: ApiError): boolean {
  return (httpStatusOf(error) ?? 0) >= 500 || isTooLargeVersion(error);
}

function afterDecodeError(error: DecodeError): Recovery {
  // Cut within a frame: what came before is in force, go on from there. Anything else would come again.
  if (error.detail.code === 'DECODE_TRUNCATED') {
    return { ...defaults, next: 'verify', message: 'The connection to the API server was cut' };
  }
  return {
    ...defaults,
    next: 'list',
    message: 'The answer of the API server cannot be read; reading everything again',
  };
}
