import { patient } from '../patience.ts';
import type { Testbed } from '../testbed/testbed.ts';
import type { ProxyUnderTest } from './proxy-under-test.ts';
import { MARKER_ADDRESSES, MARKER_CLIENT, markerPort } from './standing-objects.ts';

/** Covers a change that reached the proxy by another watch than the marker did. */
const EXTRA_MILLISECONDS = patient(400);
const POLL_MILLISECONDS = patient(20);
const ATTEMPT_TIMEOUT_MILLISECONDS = patient(250);

/**
 * Waits until the marker Service answers on the port of this step in both families, and a little longer.
 * Rejects when the proxy ends or `timeoutMilliseconds` pass.
 */
export async function settle(
  bed: Testbed,
  proxy: ProxyUnderTest,
  step: number,
  timeoutMilliseconds: number,
): Promise<void> {
  const deadline = performance.now() + timeoutMilliseconds;
  await Promise.all(
    MARKER_ADDRESSES.map(async (address) => {
      const to = address.includes(':')
        ? `[${address}]:${markerPort(step)}`
        : `${address}:${markerPort(step)}`;
      for (;;) {
        const [outcome] = await bed.probe({
          from: MARKER_CLIENT,
          to,
          timeoutMilliseconds: ATTEMPT_TIMEOUT_MILLISECONDS,
        });
        if (outcome !== undefined && 'server' in outcome) return;
        const crash = proxy.crash();
        if (crash !== undefined) throw new Error(crash);
        if (performance.now() > deadline) {
          const last = outcome !== undefined && 'failure' in outcome ? outcome.failure : 'no answer';
          throw new Error(`not settled after ${timeoutMilliseconds} ms: marker ${to} ends as ${last}`);
        }
        await delay(POLL_MILLISECONDS);
      }
    }),
  );
  await delay(EXTRA_MILLISECONDS);
}

export function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
