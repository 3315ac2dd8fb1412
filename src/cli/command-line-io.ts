import { readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { FileWatcher } from '../config/config-file-watch.ts';
import { inotifyFileWatcher } from '../config/inotify-file-watcher.ts';
import type { RootLogger } from '../logging/klog-logger.ts';
import { DescriptorOutput } from '../logging/log-output.ts';
import { createStandardLogger, type StandardLogOptions } from '../logging/standard-logger.ts';

/** What the command line needs of the world. */
export interface CommandLineIO {
  /** Name in usage texts. */
  readonly program: string;
  /** Never throw, not even when the reader is gone. */
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Text of a file; throws when it cannot be read. */
  readonly readFile: (path: string) => string;
  /** Creates or truncates a file; throws when that fails. */
  readonly writeFile: (path: string, text: string) => void;
  readonly kernelHostname: () => string;
  readonly fileWatcher: FileWatcher;
  readonly createLogger: (options: StandardLogOptions) => RootLogger;
}

/** The real thing. */
export function systemIO(program: string): CommandLineIO {
  const stdout = new DescriptorOutput(1);
  const stderr = new DescriptorOutput(2);
  return {
    program,
    stdout: (text) => stdout.write(text),
    stderr: (text) => stderr.write(text),
    readFile: (path) => readFileSync(path, 'utf8'),
    writeFile: (path, text) => writeFileSync(path, text),
    kernelHostname: hostname,
    fileWatcher: inotifyFileWatcher,
    createLogger: (options) => createStandardLogger(options),
  };
}
