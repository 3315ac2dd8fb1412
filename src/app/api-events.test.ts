import { expect, test } from 'vitest';
import type { ApiEvent } from '../source/apiserver/event.ts';
import { ApiEvents } from './api-events.ts';

function setup() {
  const posted: ApiEvent[] = [];
  const events = new ApiEvents('node1');
  events.connect((event) => posted.push(event));
  return { events, posted };
}

test('refused kernel settings are one event of the Node that names them', () => {
  const { events, posted } = setup();
  events.kernelSettingsRefused(['/proc/sys/a', '/proc/sys/b']);
  expect(posted).toEqual([
    {
      type: 'Warning',
      reason: 'KernelSettingsRefused',
      action: 'StartKubeProxy',
      note: expect.stringContaining('node1, set them on the host: /proc/sys/a, /proc/sys/b'),
      regarding: { kind: 'Node', name: 'node1', namespace: '' },
    },
  ]);
});

test('a note is never longer than the API server takes, and no character is cut in two', () => {
  const { events, posted } = setup();
  for (const before of ['', 'a', 'ab']) events.setAside('ns/web:http', `${before}${'\u20ac'.repeat(1000)}`);
  for (const { note } of posted) {
    expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1024);
    expect(Buffer.byteLength(note)).toBeGreaterThan(1018);
    expect(note).toMatch(/\u20ac\.\.\.$/);
    expect(note).not.toContain('\ufffd');
  }
});
