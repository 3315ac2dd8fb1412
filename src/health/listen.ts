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

export class ListenError extends FairleadError<ListenErrorDetail> {}

/**
 * Opens a listening TCP socket. Connections may be half closed by the client.
 * Throws {@link ListenError} (`LISTEN_FAILED`).
 */
export async function listen(
  address: ListenAddress,
  onConnection: (socket: Socket) => void,
): Promise<Server> {
  const { host, port, ipv6Only } = address;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, onConnection);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen({ host, port, ipv6Only, exclusive: true }, resolve);
  try {
    await promise;
  } catch (error) {
    const errno = (error as NodeJS.ErrnoException).code ?? 'UNKNOWN';
    const message = `cannot listen on ${joinHostPort(host, port)}: ${reason(errno)}`;
    throw new ListenError({ code: 'LISTEN_FAILED', host, port, errno }, message, { cause: error });
  }
  server.off('error', reject);
  return server;
}

/**
 * Opens an address the way Go's `tcp` listener does (spec 3.12): the unspecified address of either family means both
 * families, one socket for all, or IPv4 alone where the kernel has no IPv6. Throws {@link ListenError}.
 */
export async function listenDualStack(
  host: string,
  port: number,
  onConnection: (socket: Socket) => void,
): Promise<Server> {
  if (host !== '' && host !== '0.0.0.0' && host !== '::')
    return listen({ host, port, ipv6Only: false }, onConnection);
  try {
    return await listen({ host: '::', port, ipv6Only: false }, onConnection);
  } catch (error) {
    const { detail } = error as ListenError;
    if (
      detail.code !== 'LISTEN_FAILED' ||
      !['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EINVAL'].includes(detail.errno)
    )
      throw error;
    return listen({ host: '0.0.0.0', port, ipv6Only: false }, onConnection);
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
