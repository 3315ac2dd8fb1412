import { createServer, type Server, type Socket } from 'node:net';
import { FairleadError } from '../base/fairlead-error.ts';
import { joinHostPort } from '../base/ip.ts';

export interface ListenAddress {
  /** An address of this host, or the unspecified one of a family. */
  readonly host: string;
  /** 0 lets the kernel choose. */
  readonly port: number;
  /** For IPv6: whether IPv4 is left to others. */
  readonly ipv6Only: boolean;
}

export type ListenErrorDetail =
  /** The kernel refused the address: in use, not of this host, not permitted. `errno` is its name. */
  | { readonly code: 'LISTEN_FAILED'; readonly host: string; readonly port: number; readonly errno: string }
  /** Two Services name the same health check node port; the first one has it. */
  | { readonly code: 'HEALTH_CHECK_PORT_TAKEN'; readonly port: number; readonly owner: string };

/** Why a port cannot be served. */
export class ListenError extends FairleadError<ListenErrorDetail> {}

/** Who takes what comes in on a listening socket. */
export interface ConnectionTaker {
  /** Serves a connection. It may be half closed by the client. */
  accept(socket: Socket): void;
  /** A connection could not be taken, as a rule because files or memory are short. The listener goes on. */
  acceptFailed(error: Error): void;
}

/** Opens a listening TCP socket. Throws {@link ListenError} (`LISTEN_FAILED`). */
export async function listen(address: ListenAddress, taker: ConnectionTaker): Promise<Server> {
  const { host, port, ipv6Only } = address;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => taker.accept(socket));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  try {
    server.once('error', reject);
    server.listen({ host, port, ipv6Only, exclusive: true }, resolve);
    await promise;
  } catch (error) {
    const errno = (error as NodeJS.ErrnoException).code ?? 'UNKNOWN';
    const message = `cannot listen on ${joinHostPort(host, port)}: ${reason(errno)}`;
    throw new ListenError({ code: 'LISTEN_FAILED', host, port, errno }, message, { cause: error });
  }
  server.off('error', reject);
  server.on('error', (error) => taker.acceptFailed(error));
  return server;
}

/**
 * Opens an address the way Go's `tcp` listener does (operations 3.12): the unspecified address of either family means both
 * families, one socket for all, or IPv4 alone where the kernel has no IPv6. Throws {@link ListenError}.
 */
export async function listenDualStack(host: string, port: number, taker: ConnectionTaker): Promise<Server> {
  if (host !== '' && host !== '0.0.0.0' && host !== '::')
    return listen({ host, port, ipv6Only: false }, taker);
  try {
    return await listen({ host: '::', port, ipv6Only: false }, taker);
  } catch (error) {
    const lacksIPv6 =
      error instanceof ListenError &&
      error.detail.code === 'LISTEN_FAILED' &&
      ['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL'].includes(error.detail.errno);
    if (!lacksIPv6) throw error;
    return listen({ host: '0.0.0.0', port, ipv6Only: false }, taker);
  }
}

function reason(errno: string): string {
  switch (errno) {
    case 'EADDRINUSE':
      return 'address already in use';
    case 'EADDRNOTAVAIL':
      return 'not an address of this host';
    case 'EACCES':
      return 'permission denied';
    default:
      return errno;
  }
}
