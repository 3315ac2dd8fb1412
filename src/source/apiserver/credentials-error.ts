import { FairleadError } from '../../base/fairlead-error.ts';

/** Why the API server's address or the credentials for it are not usable. Secrets are never part of it. */
export type CredentialsErrorDetail =
  /** Neither a kubeconfig nor a server was given and this is no pod: `missing` is the variable or file looked for. */
  | { readonly code: 'CREDENTIALS_NOT_IN_CLUSTER'; readonly missing: string }
  /** `file` cannot be read; `use` says what for. */
  | { readonly code: 'CREDENTIALS_FILE_UNREADABLE'; readonly file: string; readonly use: string }
  /** A kubeconfig that makes no sense at `path`. */
  | { readonly code: 'CREDENTIALS_KUBECONFIG'; readonly file: string; readonly problem: string }
  | { readonly code: 'CREDENTIALS_EXEC_FAILED'; readonly command: string; readonly problem: string };

/** Why there are no credentials for the API server. */
export class CredentialsError extends FairleadError<CredentialsErrorDetail> {
  constructor(detail: CredentialsErrorDetail, options?: ErrorOptions) {
    super(detail, messageOf(detail), options);
  }
}

function messageOf(detail: CredentialsErrorDetail): string {
  switch (detail.code) {
    case 'CREDENTIALS_NOT_IN_CLUSTER':
      return `no kubeconfig and no --master given, and not running in a pod: ${detail.missing} is missing`;
    case 'CREDENTIALS_FILE_UNREADABLE':
      return `cannot read the ${detail.use} ${detail.file}`;
    case 'CREDENTIALS_KUBECONFIG':
      return `kubeconfig ${detail.file}: ${detail.problem}`;
    case 'CREDENTIALS_EXEC_FAILED':
      return `credential plugin ${detail.command}: ${detail.problem}`;
  }
}
