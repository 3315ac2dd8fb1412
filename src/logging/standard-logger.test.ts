import { describe, expect, test } from 'vitest';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { createStandardLogger } from './standard-logger.ts';

function setUp(splitStream: boolean, infoBufferSize: number) {
  const streams = { 1: '', 2: '' };
  const clock = new FakeClock();
  const logger = createStandardLogger(
    { format: 'json', verbosity: 0, vmodule: [], flushFrequency: 1000, splitStream, infoBufferSize },
    clock,
    (fd) => ({
      buffers: false,
      write: (text) => {
        streams[fd] += text;
      },
      flush() {},
    }),
  );
  return { logger, streams, clock };
}

describe('the streams of the process log (operations 9.2)', () => {
  test('everything goes to stderr by default, whatever the format', () => {
    const { logger, streams, clock } = setUp(false, 100_000);
    logger.info('a');
    logger.error('b', undefined);
    expect(streams[1]).toBe('');
    expect(streams[2]).toMatch(/"msg":"a"[\s\S]*"msg":"b"/);
    expect(clock.pending).toBe(0);
  });

  test('split streams put all but errors on stdout, buffered where asked for', async () => {
    const direct = setUp(true, 0);
    direct.logger.info('a');
    direct.logger.warn('b');
    expect(direct.streams[1]).toMatch(/"msg":"a"[\s\S]*"msg":"b"/);
    expect(direct.clock.pending).toBe(0);
    const held = setUp(true, 100_000);
    held.logger.info('a');
    expect(held.streams[1]).toBe('');
    await held.clock.advance(1000);
    expect(held.streams[1]).toContain('"msg":"a"');
    held.logger.error('c', undefined);
    expect(held.streams[2]).toContain('"msg":"c"');
  });
});
