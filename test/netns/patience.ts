const factor = Number(process.env['FAIRLEAD_TEST_PATIENCE'] ?? '1');

/**
 * How long a test that runs on this machine's kernel may wait, from the time that is ample on an ordinary machine. The
 * variable FAIRLEAD_TEST_PATIENCE holds the factor for slower ones, such as the emulated one of test/guest-kernel.
 */
export function patient(milliseconds: number): number {
  if (!(factor >= 1)) throw new Error('FAIRLEAD_TEST_PATIENCE is not a number of at least 1');
  return milliseconds * factor;
}
