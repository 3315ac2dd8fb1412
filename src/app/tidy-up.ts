import { flushCompileCache } from 'node:module';

/**
 * Reading the cluster leaves more garbage than what stays; nothing would collect it for hours in a quiet cluster. Keeps
 * the compiled code for the next start, too, which a kill would lose.
 */
export function tidyUpAfterStart(): void {
  flushCompileCache();
  globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
