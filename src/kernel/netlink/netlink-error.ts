import { FairleadError } from '../../base/fairlead-error.ts';
import {
  EACCES,
  EBUSY,
  EEXIST,
  EINVAL,
  ENODEV,
  ENOENT,
  EOPNOTSUPP,
  EPERM,
  errnoName,
} from '../native/errno.ts';

/** What the kernel said about one message (NLMSG_ERROR with extended acknowledgement, linux/netlink.h). */
export interface KernelRejection {
  /** Sequence number of the message that was refused. */
  readonly sequence: number;
  /** Positive errno. */
  readonly errno: number;
  /** Symbolic name of the errno, e.g. `ENOENT`. */
  readonly errnoName: string;
  /** The kernel's own text, when it sent one. */
  readonly message?: string;
  /** Where in the refused message the offending attribute starts, counted from its header. */
  readonly offset?: number;
}

/** Why talking to the kernel failed. `op` is what was being done, e.g. `list addresses`. */
export type NetlinkErrorDetail =
  /** The kernel refused a request. */
  | ({ readonly code: 'NETLINK_KERNEL_ERROR'; readonly op: string } & KernelRejection)
  /** A system call on the socket failed. */
  | {
      readonly code: 'NETLINK_SYSCALL_FAILED';
      readonly op: string;
      readonly syscall: string;
      readonly errno: number;
      readonly errnoName: string;
    }
  /** What was listed changed while it was listed, each time it was tried. */
  | { readonly code: 'NETLINK_DUMP_INTERRUPTED'; readonly op: string; readonly attempts: number }
  /** The kernel did not answer within the socket's receive timeout. */
  | { readonly code: 'NETLINK_TIMEOUT'; readonly op: string; readonly sequence: number }
  /** The receive buffer was full: answers or events are lost. */
  | { readonly code: 'NETLINK_OVERRUN'; readonly op: string }
  /** A datagram did not fit the receive buffer, or a message makes no sense. */
  | { readonly code: 'NETLINK_MALFORMED'; readonly op: string; readonly reason: string }
  /** The socket was closed before. */
  | { readonly code: 'NETLINK_CLOSED'; readonly op: string };

/** Raised by sockets, connections and families alike; the functions below tell what it means. */
export class NetlinkError extends FairleadError<NetlinkErrorDetail> {}

/** An error for a refusal by the kernel. */
export function kernelError(op: string, rejection: KernelRejection): NetlinkError {
  const { errnoName: name, message, offset } = rejection;
  const text = message === undefined ? '' : `: ${message}`;
  const place = offset === undefined ? '' : ` (at byte ${offset})`;
  return new NetlinkError(
    { code: 'NETLINK_KERNEL_ERROR', op, ...rejection },
    `${op}: kernel answered ${name}${text}${place}`,
  );
}

/** An error for a failed system call; `errno` is positive. */
export function syscallError(op: string, syscall: string, errno: number): NetlinkError {
  const name = errnoName(errno);
  return new NetlinkError(
    { code: 'NETLINK_SYSCALL_FAILED', op, syscall, errno, errnoName: name },
    `${op}: ${syscall} failed with ${name}`,
  );
}

/** Positive errno of a kernel refusal or a failed system call, `undefined` for other errors. */
export function errnoOf(error: unknown): number | undefined {
  if (!(error instanceof NetlinkError)) return undefined;
  const { detail } = error;
  return detail.code === 'NETLINK_KERNEL_ERROR' || detail.code === 'NETLINK_SYSCALL_FAILED'
    ? detail.errno
    : undefined;
}

/** The object is not there. */
export const isNotFound = (error: unknown): boolean => {
  const errno = errnoOf(error);
  return errno === ENOENT || errno === ENODEV;
};

/** The object is there already. */
export const isExists = (error: unknown): boolean => errnoOf(error) === EEXIST;

/** The object is still in use. */
export const isBusy = (error: unknown): boolean => errnoOf(error) === EBUSY;

/** The process lacks a capability (usually CAP_NET_ADMIN). */
export const isNotPermitted = (error: unknown): boolean => {
  const errno = errnoOf(error);
  return errno === EPERM || errno === EACCES;
};

/** The kernel lacks the feature. */
export const isNotSupported = (error: unknown): boolean => errnoOf(error) === EOPNOTSUPP;

/** The kernel does not understand the request: often an attribute that it is too old for. */
export const isInvalid = (error: unknown): boolean => errnoOf(error) === EINVAL;
