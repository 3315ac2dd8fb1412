import { describe, expect, test } from 'vitest';
import { FairleadError } from '../base/fairlead-error.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { createLogger, type LogOptions } from './klog-logger.ts';
import { BufferedOutput, type LogOutput } from './log-output.ts';

class Lines implements LogOutput {
  readonly buffers = false;
  text = '';
  write(text: string): void {
    this.text += text;
  }
  flush(): void {}
}

const start = new Date(2026, 4, 1, 10, 2, 3).getTime() + 0.125;

function setUp(options: Partial<LogOptions> = {}) {
  const out = new Lines();
  const logger = createLogger(
    { format: 'text', verbosity: 0, vmodule: [], flushFrequency: 5000, ...options },
    { clock: new FakeClock(start), pid: 17, output: out, errors: out },
  );
  return { logger, out };
}

/** Line of the caller in this file. */
function here(): number {
  return Number(/test\.ts:([0-9]+)/.exec(new Error().stack?.split('\n')[2] ?? '')?.[1]);
}

describe('text format', () => {
  test('writes a header like klog, the message and the pairs', () => {
    const { logger, out } = setUp();
    logger.info('Version info', { version: 'v1.36.2', count: 3, on: true, list: ['a', 'b'], none: null });
    const line = here() - 1;
    expect(out.text).toBe(
      `I0501 10:02:03.000125      17 klog-logger.test.ts:${line}] "Version info" version="v1.36.2" count=3 on=true list=["a","b"] none=null\n`,
    );
  });

  test('marks warnings and errors by their letter, and an error by its message, causes and code', () => {
    const { logger, out } = setUp();
    logger.warn('Careful');
    const cause = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
    logger.error('Failed', new Error('cannot list', { cause }), { resource: 'services' });
    logger.error('Ours', new FairleadError({ code: 'CONFIG_INVALID' }, 'no good'));
    const [warning, failed, ours] = out.text.split('\n');
    expect(warning).toMatch(/^W0501 .*\] "Careful"$/);
    expect(failed).toMatch(
      /^E0501 .*\] "Failed" err="cannot list: connection refused" code="ECONNREFUSED" resource="services"$/,
    );
    expect(ours).toMatch(/ err="no good" code="CONFIG_INVALID"$/);
  });

  test('adds the stack to errors that only a bug can raise', () => {
    const { logger, out } = setUp();
    logger.error('Failed', new TypeError('x is undefined'));
    logger.error('Failed', new Error('expected'));
    expect(out.text.match(/stack=</g)).toHaveLength(1);
    expect(out.text).toMatch(/stack=<\n\tTypeError: x is undefined\n\t {4}at .*klog-logger\.test\.ts/);
  });

  test('names the caller of a derived logger, of verbose and of error too', () => {
    const { logger, out } = setUp({ verbosity: 2 });
    const first = here() + 1;
    logger.with({ a: 1 }).info('one');
    logger.verbose(2, 'two');
    logger.error('three', undefined);
    expect([...out.text.matchAll(/test\.ts:([0-9]+)\]/g)].map((match) => Number(match[1]))).toEqual([
      first,
      first + 1,
      first + 2,
    ]);
  });

  test('keeps one header per line however long the text', () => {
    const { logger, out } = setUp();
    logger.info('a "quoted"\nmessage\u0007', { rules: 'first\nsecond\u001b[31m', tab: 'a\tb', umlaut: 'ü' });
    expect(out.text.replace(/^.*\] /, '')).toBe(
      '"a \\"quoted\\"\\nmessage\\a" rules=<\n\tfirst\n\tsecond\\x1b[31m\n > tab="a\\tb" umlaut="ü"\n',
    );
  });

  test('prints a plain line without quotes, still on one line, up to the verbosity', () => {
    const { logger, out } = setUp();
    logger.plain(0, 'FLAG: --a="b"\nE1201 forged');
    const line = here() - 1;
    logger.plain(1, 'not printed');
    expect(out.text).toBe(
      `I0501 10:02:03.000125      17 klog-logger.test.ts:${line}] FLAG: --a="b"\\nE1201 forged\n`,
    );
  });

  test('adds the pairs of with, the nearest winning', () => {
    const { logger, out } = setUp();
    logger.with({ family: 'IPv4', mode: 'ipvs' }).with({ mode: 'nftables' }).info('Sync', { n: 1 });
    expect(out.text).toMatch(/"Sync" family="IPv4" mode="nftables" n=1\n$/);
  });
});

describe('levels', () => {
  test('prints verbose lines up to the verbosity, which may change', () => {
    const { logger, out } = setUp({ verbosity: 2 });
    logger.verbose(2, 'two');
    logger.verbose(3, 'three');
    expect(logger.enabled(2)).toBe(true);
    expect(logger.enabled(3)).toBe(false);
    logger.verbosity = 3;
    logger.with({}).verbose(3, 'later');
    expect([...out.text.matchAll(/\] "(\w+)"/g)].map((match) => match[1])).toEqual(['two', 'later']);
  });

  test.each([
    ['klog-logger.test', true],
    ['klog-*', true],
    ['klog-logger.tes[a-t]', true],
    ['klog-logger.tes[^t]', false],
    ['klog?logger.test.ts', true],
    ['klog', false],
    ['[', false],
  ])('vmodule pattern %s on this file: %s', (filePattern, prints) => {
    const { logger, out } = setUp({ vmodule: [{ filePattern, verbosity: 4 }] });
    logger.verbose(4, 'four');
    logger.verbose(5, 'five');
    expect(out.text.includes('"four"')).toBe(prints);
    expect(logger.enabled(4)).toBe(prints);
    expect(out.text.includes('"five"')).toBe(false);
  });

  test('the first matching vmodule item counts', () => {
    const vmodule = [
      { filePattern: 'klog*', verbosity: 1 },
      { filePattern: '*', verbosity: 9 },
    ];
    const { logger } = setUp({ vmodule });
    expect(logger.enabled(1)).toBe(true);
    expect(logger.enabled(2)).toBe(false);
  });

  test('a disabled line costs no stack trace', () => {
    const { logger } = setUp();
    const capture = Error.captureStackTrace;
    let captured = 0;
    Error.captureStackTrace = (...args) => {
      captured++;
      capture(...args);
    };
    try {
      logger.verbose(1, 'no');
      logger.enabled(1);
      expect(captured).toBe(0);
      logger.info('yes');
      expect(captured).toBe(1);
    } finally {
      Error.captureStackTrace = capture;
    }
  });
});

describe('json format', () => {
  test('writes one object per line as Kubernetes does', () => {
    const { logger, out } = setUp({ format: 'json', verbosity: 2 });
    logger.verbose(2, 'Sync', { msg: 'inner', list: [1], text: 'a\nb' });
    logger.warn('Careful');
    logger.error('Failed', new Error('why'), { attempt: 2 });
    const [sync, careful, failed] = out.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(sync).toEqual({
      ts: start,
      caller: expect.stringMatching(/^klog-logger\.test\.ts:[0-9]+$/),
      msg: 'Sync',
      v: 2,
      msg_: 'inner',
      list: [1],
      text: 'a\nb',
    });
    expect(careful).toMatchObject({ msg: 'Careful', v: 0, severity: 'warning' });
    expect(failed).toMatchObject({ msg: 'Failed', err: 'why', attempt: 2 });
    expect(failed).not.toHaveProperty('v');
  });
});

describe('secrets', () => {
  test.each(['text', 'json'] as const)('never appear in %s lines', (format) => {
    const { logger, out } = setUp({ format });
    const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJlc2lnbmF0dXJl';
    const error = new Error(`401 for https://admin:hunter22@api:6443/?token=hunter22`, {
      cause: new Error(`sent Authorization: Bearer ${jwt}`),
    });
    logger.with({ token: 'hunter22' }).error(`Request with ${jwt}`, error, {
      headers: { Authorization: 'Bearer hunter22xx', accept: 'json' },
      user: { 'client-key-data': 'hunter22', password: 'hunter22' },
      note: 'token=hunter22&x=1',
      tokenFile: '/var/run/token',
      map: new Map([['bearerToken', 'hunter22']]),
      nested: error,
    });
    expect(out.text).not.toContain('hunter22');
    expect(out.text).not.toContain(jwt);
    expect(out.text).not.toContain('c2lnbmF0dXJl');
    expect(out.text).toContain('/var/run/token');
    expect(out.text).toContain('admin');
    expect(out.text).toContain('x=1');
  });

  test('ordinary words are left alone', () => {
    const { logger, out } = setUp();
    logger.info('Reading the token file for basic authentication', { secretName: 'db', tokenCount: 3 });
    expect(out.text).toContain('"Reading the token file for basic authentication" secretName="db"');
  });
});

test('what cannot be printed does not throw', () => {
  const { logger, out } = setUp();
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const broken = {
    get value(): never {
      throw new Error('no');
    },
  };
  logger.info('odd', {
    cycle,
    broken,
    big: 10n,
    bytes: new Uint8Array([1, 255]),
    nan: Number.NaN,
    left: undefined,
  });
  expect(out.text).toMatch(
    /"odd" cycle=\{"self":"\[circular\]"\} broken="\[unprintable\]" big="10" bytes="01ff" nan="NaN"\n$/,
  );
});

describe('split streams', () => {
  test('info lines wait in the buffer until it is full, the flush interval ends, or an error is written', async () => {
    const out = new Lines();
    const errors = new Lines();
    const clock = new FakeClock(start);
    const logger = createLogger(
      { format: 'text', verbosity: 0, vmodule: [], flushFrequency: 5000 },
      { clock, pid: 1, output: new BufferedOutput(out, 4096), errors },
    );
    logger.info('held');
    expect(out.text).toBe('');
    await clock.advance(5000);
    expect(out.text).toContain('held');
    expect(clock.pending).toBe(0);
    logger.info('before');
    logger.error('failed', new Error('x'));
    expect(out.text).toContain('before');
    expect(out.text).not.toContain('failed');
    expect(errors.text).toContain('failed');
    logger.info('x'.repeat(5000));
    expect(out.text).toContain('xxx');
    logger.info('last');
    logger.close();
    expect(out.text).toContain('last');
    expect(clock.pending).toBe(0);
    logger.info('after close');
    expect(out.text).toContain('after close');
  });
});
