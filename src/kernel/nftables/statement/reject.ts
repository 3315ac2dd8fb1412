/** Answers with ICMP port unreachable, or resets the TCP connection, and drops. */
export interface RejectStatement {
  readonly kind: 'reject';
  /** Default: port unreachable, for every protocol. */
  readonly with?: 'tcp reset';
}
