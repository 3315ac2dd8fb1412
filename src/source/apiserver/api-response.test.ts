import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { ApiResponse } from './api-response.ts';

let clock: FakeClock;
let body: PassThrough;
let response: ApiResponse;
let finished: number | undefined;

beforeEach(() => {
  clock = new FakeClock();
  body = new PassThrough();
  finished = undefined;
  response = new ApiResponse(Object.assign(body, { headers: {} }) as unknown as IncomingMessage, {
    clock,
    path: '/x',
    server: 'http://s',
    finished: (bytes) => {
      finished = bytes;
    },
  });
});

async function arrive(text: string): Promise<void> {
  body.write(text);
  await setImmediate();
}

async function pass(milliseconds: number): Promise<void> {
  await clock.advance(milliseconds);
  await setImmediate();
}

describe('ApiResponse.read', () => {
  test('a stream on which something arrives now and then goes on for ever', async () => {
    const chunks: string[] = [];
    const reading = response.read(
      (chunk) => chunks.push(chunk.toString()),
      () => 180_000,
    );
    await setImmediate();
    for (let i = 0; i < 10; i++) {
      await pass(170_000);
      await arrive(`bookmark ${i}`);
    }
    body.end();
    await reading;
    expect(chunks.length).toBe(10);
    expect(finished).toBe(100);
    expect(clock.pending).toBe(0);
  });

  test('silence is an error and closes the stream', async () => {
    const reading = response
      .read(
        () => {},
        () => 180_000,
      )
      .catch((error: unknown) => error);
    await setImmediate();
    await pass(100_000);
    await arrive('x');
    await pass(179_000);
    expect(body.destroyed).toBe(false);
    await pass(1_000);
    expect(await reading).toMatchObject({
      detail: { code: 'API_SILENT', path: '/x', milliseconds: 180_000 },
    });
    expect(body.destroyed).toBe(true);
    expect(finished).toBeUndefined();
    expect(clock.pending).toBe(0);
  });

  test('how long silence may last is asked again', async () => {
    let limit = 10_000;
    const reading = response.read(
      () => {
        limit = 180_000;
      },
      () => limit,
    );
    await setImmediate();
    await arrive('x');
    await pass(170_000);
    body.end();
    await reading;
  });

  test('what the reader throws is passed on and ends the reading', async () => {
    const problem = new Error('bad frame');
    const reading = response
      .read(() => {
        throw problem;
      })
      .catch((error: unknown) => error);
    await arrive('x');
    expect(await reading).toBe(problem);
    expect(body.destroyed).toBe(true);
  });

  test('a cut is an ApiError with its cause', async () => {
    const reading = response.read(() => {}).catch((error: unknown) => error);
    await setImmediate();
    const cause = new Error('reset');
    body.destroy(cause);
    expect(await reading).toMatchObject({ detail: { code: 'API_CONNECTION' }, cause });
  });
});

describe('ApiResponse.readAll', () => {
  test('gives what came before a failure, and no more than the limit', async () => {
    const first = response.readAll(10);
    await arrive('12345');
    body.destroy(new Error('reset'));
    expect((await first).toString()).toBe('12345');
  });

  test('stops at the limit', async () => {
    const reading = response.readAll(10);
    await arrive('12345');
    await arrive('67890x');
    expect((await reading).toString()).toBe('12345');
    expect(body.destroyed).toBe(true);
  });
});
