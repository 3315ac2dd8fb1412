import type { Logger } from '../base/logger.ts';

/**
 * Writes a fault of the program that nobody has caught to the log, after what was logged before it. Node then ends the
 * process with status 1 as it would without. Returns how to stop.
 */
export function logCrashes(logger: Pick<Logger, 'error'>): () => void {
  const onCrash = (error: unknown) => {
    logger.error('The program ends because of a fault of its own', error);
  };
  process.on('uncaughtExceptionMonitor', onCrash);
  return () => process.off('uncaughtExceptionMonitor', onCrash);
}
