import { Session } from 'node:inspector/promises';
import type { Readable } from 'node:stream';
import { getHeapSnapshot } from 'node:v8';

/** One profile at a time: two would measure each other. */
let busy = false;

/** Another profile is being taken. */
export class ProfileInProgressError extends Error {
  constructor() {
    super('another profile is being taken');
  }
}

/**
 * Samples what the processor does for `seconds`. Returns the text of a `.cpuprofile` file, for Chrome's developer tools
 * or speedscope. Ends early, with what there is, when `signal` is aborted. Throws {@link ProfileInProgressError}.
 */
export function takeCpuProfile(seconds: number, signal: AbortSignal): Promise<string> {
  return withSession(async (session) => {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    await sleep(seconds, signal);
    const { profile } = await session.post('Profiler.stop');
    return JSON.stringify(profile);
  });
}

/**
 * Samples who allocates memory for `seconds`. Returns the text of a `.heapprofile` file. Cheap, unlike a snapshot.
 * Throws {@link ProfileInProgressError}.
 */
export function takeAllocationProfile(seconds: number, signal: AbortSignal): Promise<string> {
  return withSession(async (session) => {
    await session.post('HeapProfiler.startSampling');
    await sleep(seconds, signal);
    const { profile } = await session.post('HeapProfiler.stopSampling');
    return JSON.stringify(profile);
  });
}

/**
 * The whole heap as a `.heapsnapshot` stream. The process stands still while it is taken, and needs about as much
 * memory again as the heap.
 */
export function takeHeapSnapshot(): Readable {
  return getHeapSnapshot();
}

async function withSession(run: (session: Session) => Promise<string>): Promise<string> {
  if (busy) throw new ProfileInProgressError();
  busy = true;
  const session = new Session();
  try {
    session.connect();
    return await run(session);
  } finally {
    session.disconnect();
    busy = false;
  }
}

function sleep(seconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, seconds * 1000);
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise.finally(() => clearTimeout(timer));
}
