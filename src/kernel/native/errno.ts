import { constants } from 'node:os';

export const EPERM = 1;
export const ENOENT = 2;
export const EINTR = 4;
export const EAGAIN = 11;
export const EACCES = 13;
export const EBUSY = 16;
export const EEXIST = 17;
export const ENODEV = 19;
export const EINVAL = 22;
export const ERANGE = 34;
export const ERESTART = 85;
export const EOPNOTSUPP = 95;
export const ENOBUFS = 105;

/**
 * Names that os.constants leaves out (the kernel passes on a few that user space should never see), and the one that
 * the kernel's own sources use where two share a number.
 */
const preferred: Readonly<Record<number, string>> = {
  11: 'EAGAIN',
  85: 'ERESTART',
  95: 'EOPNOTSUPP',
  117: 'EUCLEAN',
  524: 'ENOTSUPP',
};

let names: Map<number, string> | undefined;

/** Symbolic name of a positive errno, e.g. `ENOENT`; `errno 999` when it has none. */
export function errnoName(errno: number): string {
  if (names === undefined) {
    names = new Map();
    for (const [name, number] of Object.entries(constants.errno)) names.set(number, name);
  }
  return preferred[errno] ?? names.get(errno) ?? `errno ${errno}`;
}
