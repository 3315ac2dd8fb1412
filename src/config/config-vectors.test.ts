import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkConfiguration, checkLogging, completeConfiguration } from './complete-configuration.ts';
import { ConfigError } from './config-error.ts';
import { parseFlags } from './parse-flags.ts';
import { printYaml } from './print-yaml.ts';
import { toV1alpha1 } from './to-v1alpha1.ts';

interface Vector {
  name: string;
  config: string | null;
  flags: string[];
  result: 'ok' | 'rejected';
  exit: number;
  stage?: 'flags' | 'complete' | 'validate' | 'other';
  fieldErrors?: { field: string; kind: string }[];
  warnings?: string[];
  effectiveConfig?: string;
}

interface Exception {
  reason: string;
  result: 'ok' | 'rejected';
  code?: string;
  /** Values of the effective configuration that differ from those of the vector `empty`. */
  changes?: Record<string, unknown>;
}

const recording = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../test/recordings/${name}`, import.meta.url), 'utf8')) as unknown;
const vectors = recording('config-vectors.json') as Vector[];
const exceptions = recording('config-vectors-exceptions.json') as Record<string, Exception>;

interface Outcome {
  error?: ConfigError;
  stage?: 'flags' | 'complete' | 'logging' | 'validate';
  written?: string;
  warnings: string[];
}

/** Runs the steps of a start, as far as they concern configuration. */
function configure(vector: Vector, extraFlags: string[]): Outcome {
  const argv = [
    ...(vector.config === null ? [] : ['--config=/etc/vector.conf']),
    ...vector.flags,
    ...extraFlags,
  ];
  let stage: Outcome['stage'] = 'flags';
  let warnings: string[] = [];
  try {
    const flags = parseFlags(argv);
    stage = 'complete';
    const completed = completeConfiguration(flags, () => vector.config ?? '');
    warnings = completed.warnings.map((warning) => warning.message);
    stage = 'logging';
    checkLogging(completed);
    stage = 'validate';
    const config = checkConfiguration(completed);
    return { written: printYaml(toV1alpha1(config)), warnings };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { error, stage, warnings };
  }
}

const stages: Record<string, string[]> = {
  flags: ['flags'],
  complete: ['complete'],
  validate: ['validate'],
  other: ['flags', 'logging'],
};

test('there are 200 vectors, and every exception is one of them', () => {
  expect(vectors).toHaveLength(200);
  const names = new Set(vectors.map((vector) => vector.name));
  expect(Object.keys(exceptions).filter((name) => !names.has(name))).toEqual([]);
});

describe('configurations recorded from kube-proxy 1.36.2', () => {
  for (const vector of vectors) {
    const exception = exceptions[vector.name];
    const suffix = exception === undefined ? '' : ` (exception: ${exception.reason})`;
    test(`${vector.name}${suffix}`, () => {
      const write = configure(vector, ['--write-config-to=/tmp/written']);
      // Recorded was first a run with --write-config-to, which skips the deprecated port flags, and where that went
      // well a plain run. A vector is rejected if either was; `exit` is that of the first.
      const plain = configure(vector, []);
      const run = write.error === undefined ? plain : write;
      const result = exception?.result ?? vector.result;
      expect(run.error === undefined ? 'ok' : 'rejected', run.error?.message).toBe(result);
      if (exception?.code !== undefined) {
        expect(run.error?.code).toBe(exception.code);
        return;
      }
      if (exception === undefined) expect(write.error === undefined ? 0 : 1).toBe(vector.exit);
      if (run.error !== undefined) {
        expect(stages[vector.stage ?? '']).toContain(run.stage);
        expect(fieldErrorsOf(run.error)).toEqual(sorted(vector.fieldErrors ?? []));
      }
      const expected = expectedWritten(vector, exception);
      if (expected !== undefined) {
        expect(write.written).toBe(expected);
        expect(parse(write.written ?? '')).toEqual(parse(expected));
      }
      const lenient = run.warnings.filter((warning) => warning.includes('lenient'));
      expect(lenient).toHaveLength(vector.warnings?.length ?? 0);
    });
  }
});

function expectedWritten(vector: Vector, exception: Exception | undefined): string | undefined {
  if (exception?.changes === undefined) return vector.effectiveConfig;
  const base = vectors.find((other) => other.name === 'empty')?.effectiveConfig ?? '';
  let text = base;
  for (const [key, value] of Object.entries(exception.changes)) {
    text = text.replace(new RegExp(`^${key}: .*$`, 'm'), `${key}: ${value}`);
  }
  expect(text).not.toBe(base);
  return text;
}

function fieldErrorsOf(error: ConfigError): { field: string; kind: string }[] {
  if (error.detail.code !== 'CONFIG_INVALID') return [];
  return sorted(error.detail.fieldErrors.map(({ field, kind }) => ({ field, kind })));
}

/** Each pair once, as recorded. */
function sorted(errors: { field: string; kind: string }[]): { field: string; kind: string }[] {
  const distinct = new Map(errors.map((error) => [`${error.field} ${error.kind}`, error]));
  return [...distinct.keys()].toSorted().map((key) => distinct.get(key)!);
}
