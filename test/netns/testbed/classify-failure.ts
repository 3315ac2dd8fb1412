/**
 * The word the scenario files use for a failed request. `unhandled` is the router's ICMP "administratively
 * prohibited", which the kernel reports as EHOSTUNREACH for IPv4 and EACCES for IPv6.
 */
export function classifyFailure(code: string | undefined, host: string): string {
  switch (code) {
    case 'ECONNREFUSED':
      return 'refused';
    case 'ECONNRESET':
    case 'EPIPE':
      return 'reset';
    case 'ENETUNREACH':
      return 'network unreachable';
    case 'ETIMEDOUT':
      return 'timeout';
    case host.includes(':') ? 'EACCES' : 'EHOSTUNREACH':
      return 'unhandled';
    default:
      return code ?? 'unknown error';
  }
}

/** The `code` of a system error. */
export function systemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
