import { readFileSync } from 'node:fs';

/** At most four servers are open, and what they hold together must leave half to everything else. */
const SHARE = 1 / 8;
const FEWEST = 16;

/**
 * How many connections one HTTP server may hold, by the limit of open files of this process: clients must not take what
 * the kernel, the API server and other programs are spoken to with. `readLimits` gives the text of /proc/self/limits.
 */
export function connectionShare(
  readLimits: () => string = () => readFileSync('/proc/self/limits', 'utf8'),
): number {
  try {
    const files = /^Max open files\s+([0-9]+)/m.exec(readLimits())?.[1];
    if (files !== undefined) return Math.max(FEWEST, Math.floor(Number(files) * SHARE));
  } catch {
    // Without /proc the limit is not known.
  }
  return Number.POSITIVE_INFINITY;
}
