import { describe, expect, test } from 'vitest';
import { DescriptorOutput } from './log-output.ts';

const failure = (code: string) => Object.assign(new Error(code), { code });

/** A descriptor that accepts three bytes at a time, after the given failures. */
function descriptor(failures: string[]) {
  const written: number[] = [];
  const output = new DescriptorOutput(2, (_fd, bytes, offset) => {
    const code = failures.shift();
    if (code !== undefined) throw failure(code);
    const part = bytes.subarray(offset, offset + 3);
    written.push(...part);
    return part.length;
  });
  return { output, text: () => Buffer.from(written).toString() };
}

describe('writing to a descriptor', () => {
  test('goes on after partial writes, EINTR and a full pipe', () => {
    const { output, text } = descriptor(['EINTR', 'EAGAIN', 'EAGAIN']);
    output.write('a line of text\n');
    expect(text()).toBe('a line of text\n');
  });

  test.each(['EPIPE', 'ENOSPC', 'EBADF'])(
    'loses the line on %s without throwing, and tries the next',
    (code) => {
      const { output, text } = descriptor([code]);
      output.write('lost\n');
      output.write('kept\n');
      expect(text()).toBe('kept\n');
    },
  );

  test('gives up on a pipe that stays full', () => {
    let calls = 0;
    const output = new DescriptorOutput(2, () => {
      calls++;
      throw failure('EAGAIN');
    });
    output.write('lost\n');
    expect(calls).toBeGreaterThan(10);
    expect(calls).toBeLessThan(1000);
  });
});
