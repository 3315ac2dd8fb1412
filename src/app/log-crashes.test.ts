import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);

const program = `
import { createStandardLogger } from ${module('../logging/standard-logger.ts')};
import { logCrashes } from ${module('./log-crashes.ts')};
const logger = createStandardLogger({ format: 'json', splitStream: true, infoBufferSize: 1000, flushFrequency: 60_000, verbosity: 0, vmodule: [] });
logCrashes(logger);
logger.info('before');
FAULT
`;

test.each([
  ['thrown', "setImmediate(() => { throw new Error('boom'); });"],
  ['rejected', "void Promise.reject(new Error('boom'));"],
])(
  'a fault that is %s ends the program with status 1, after all that was logged, and is in the log',
  (_, fault) => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module-typescript', '--eval', program.replace('FAULT', fault)],
      { encoding: 'utf8' },
    );
    expect(status).toBe(1);
    expect(stdout).toContain('"before"');
    const line = stderr.split('\n').find((text) => text.startsWith('{'));
    expect(JSON.parse(line ?? '')).toMatchObject({ err: expect.stringContaining('boom') });
  },
);
