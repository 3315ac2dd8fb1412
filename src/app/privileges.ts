import { readFileSync } from 'node:fs';
import { AppError } from './app-error.ts';

/** linux/capability.h */
const CAP_NET_ADMIN = 12n;

/** Throws AppError `APP_NOT_PRIVILEGED` where this process may not program packet filters, whatever the mode. */
export function requireNetAdmin(
  readStatus: () => string = () => readFileSync('/proc/self/status', 'utf8'),
): void {
  let effective: string | undefined;
  try {
    effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readStatus())?.[1];
  } catch {
    // Without /proc the kernel has the word, later.
  }
  if (effective === undefined || ((BigInt(`0x${effective}`) >> CAP_NET_ADMIN) & 1n) === 1n) return;
  throw new AppError(
    { code: 'APP_NOT_PRIVILEGED', capability: 'CAP_NET_ADMIN' },
    'this process may not program the packet filter: it lacks CAP_NET_ADMIN; run it as root, or in a privileged container',
  );
}
