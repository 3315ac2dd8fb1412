import { FairleadError } from '../base/fairlead-error.ts';

export type AppErrorDetail =
  | { readonly code: 'APP_MODE_NOT_AVAILABLE'; readonly mode: string }
  | { readonly code: 'APP_FAMILY_NOT_SUPPORTED'; readonly family: string }
  | { readonly code: 'APP_WRONG_FAMILY'; readonly findings: readonly string[] }
  | { readonly code: 'APP_NODE_MISSING'; readonly node: string }
  | { readonly code: 'APP_NODE_WITHOUT_POD_CIDRS'; readonly node: string }
  | { readonly code: 'APP_POD_CIDRS_CHANGED'; readonly node: string }
  | { readonly code: 'APP_NOT_PRIVILEGED'; readonly capability: string }
  | { readonly code: 'APP_HOST_SETUP_INCOMPLETE' }
  | { readonly code: 'APP_READ_TIMED_OUT' };

/** Why the proxy cannot start, or cannot go on. */
export class AppError extends FairleadError<AppErrorDetail> {}
