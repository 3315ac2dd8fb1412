import { type Clock, systemClock } from '../base/clock.ts';
import { createLogger, type LogOptions, type RootLogger } from './klog-logger.ts';
import { BufferedOutput, DescriptorOutput, type LogOutput } from './log-output.ts';

export interface StandardLogOptions extends LogOptions {
  /** Errors to stderr, everything else to stdout; otherwise all lines go to stderr. */
  readonly splitStream: boolean;
  /** Bytes of info lines held back with split streams; 0 for none. */
  readonly infoBufferSize: number;
}

/** The logger of the process: writes to the standard streams (operations 9.2). */
export function createStandardLogger(
  options: StandardLogOptions,
  clock: Clock = systemClock,
  openOutput: (fd: 1 | 2) => LogOutput = (fd) => new DescriptorOutput(fd),
): RootLogger {
  const errors = openOutput(2);
  const output = options.splitStream ? buffered(openOutput(1), options.infoBufferSize) : errors;
  return createLogger(options, { clock, pid: process.pid, output, errors });
}

function buffered(output: LogOutput, size: number): LogOutput {
  return size > 0 ? new BufferedOutput(output, size) : output;
}
