import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ByteAccumulator } from './byte-accumulator.ts';

test('holds what was appended and not yet taken, whatever the sizes', () => {
  const step = fc.record({
    size: fc.oneof(fc.nat(100), fc.nat(40_000), fc.constant(300_000)),
    take: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const accumulator = new ByteAccumulator();
      let model = Buffer.alloc(0);
      let taken = 0;
      for (const [i, { size, take }] of steps.entries()) {
        const chunk = Buffer.alloc(size, i + 1);
        accumulator.append(chunk);
        model = Buffer.concat([model, chunk]);
        const bytes = Math.floor(take * model.length);
        accumulator.take(bytes);
        model = model.subarray(bytes);
        taken += bytes;
        expect(accumulator.length).toBe(model.length);
        expect(accumulator.taken).toBe(taken);
        const { buffer, start, end } = accumulator;
        if (!buffer.subarray(start, end).equals(model)) throw new Error(`different after step ${i}`);
      }
    }),
  );
});

test('does not keep the memory of a giant once it is taken', () => {
  const accumulator = new ByteAccumulator();
  accumulator.append(Buffer.alloc(5_000_000));
  accumulator.take(5_000_000);
  accumulator.append(Buffer.alloc(10));
  expect(accumulator.buffer.length).toBeLessThan(100_000);
});
