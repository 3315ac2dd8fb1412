import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../base/clock.ts';
import { type Logger, silentLogger } from '../../base/logger.ts';
import type { ObjectSink } from '../../kube/object-sink.ts';
import { FilesSource, type FilesSourceDependencies } from './files-source.ts';

let folder: string;
let stop: AbortController;
let running: Promise<void> | undefined;
let lines: string[];
let served: Set<string>;
let isSynced: boolean;
let poll: () => void;

/** Polls come when the test says so; all else is real time. */
const pollMilliseconds = 3_600_000;
const clock: Clock = {
  ...systemClock,
  schedule(milliseconds, callback) {
    // Before the first success a poll comes after a second.
    if (milliseconds < 1000) return systemClock.schedule(milliseconds, callback);
    poll = callback;
    return { cancel: () => {} };
  },
};
const logger: Logger = {
  ...silentLogger,
  warn: (message, values) => void lines.push(`${message} ${JSON.stringify(values)}`),
  error: (message, error, values) => void lines.push(`${message} ${error} ${JSON.stringify(values)}`),
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'odd-manifests-'));
  stop = new AbortController();
  lines = [];
  served = new Set();
  isSynced = false;
});
afterEach(async () => {
  stop.abort();
  await running;
  rmSync(folder, { recursive: true, force: true });
});

const path = (name: string) => join(folder, name);
const service = (name: string) =>
  `apiVersion: v1\nkind: Service\nmetadata:\n  name: ${name}\nspec:\n  clusterIP: 10.96.0.1\n  ports:\n  - port: 80\n`;
const write = (name: string, text = service(name.split('.')[0]!)) => writeFileSync(path(name), text);

async function start(more: Partial<FilesSourceDependencies> = {}): Promise<void> {
  const ignored: ObjectSink<unknown> = { set() {}, delete() {}, synced() {} };
  const sinks = {
    services: {
      set: ({ name }: { name: string }) => void served.add(name),
      delete: (_: string, name: string) => void served.delete(name),
      synced: () => {
        isSynced = true;
      },
    },
    endpointSlices: ignored,
    nodes: ignored,
    serviceCIDRs: ignored,
  };
  const options = { directory: folder, nodeName: undefined, pollMilliseconds };
  const source = new FilesSource(options, { sinks, logger, clock, ...more });
  running = source.start(stop.signal);
  await expect.poll(() => isSynced, { interval: 2, timeout: 10_000 }).toBe(true);
}

const serves = (...names: string[]) =>
  expect.poll(() => [...served].sort(), { interval: 2, timeout: 10_000 }).toEqual(names);

describe('one odd file does not keep the others from being served and followed', () => {
  const odd: [string, () => void][] = [
    ['a link to itself', () => symlinkSync('b.yaml', path('b.yaml'))],
    ['a link to nothing', () => symlinkSync('nowhere', path('b.yaml'))],
    ['a directory', () => mkdirSync(path('b.yaml'))],
    ['a pipe', () => void execFileSync('mkfifo', [path('b.yaml')])],
    ['an alias without its anchor', () => write('b.yaml', 'kind: Service\nmetadata: *missing\n')],
    ['a merge of no mapping', () => write('b.yaml', 'kind: Service\n<<: 3\n')],
    ['an object that contains itself', () => write('b.yaml', 'kind: Service\nmetadata: &m\n  labels: *m\n')],
    [
      'aliases that multiply',
      () => {
        const ten = (name: string) => Array(10).fill(`*${name}`).join();
        write(
          'b.yaml',
          `a: &a [${ten('x').replaceAll('*x', 'x')}]\nb: &b [${ten('a')}]\nc: &c [${ten('b')}]\nd: [${ten('c')}]\n`,
        );
      },
    ],
    ['brackets without end', () => write('b.yaml', `kind: ${'['.repeat(5000)}`)],
    [
      'a file of three gigabytes',
      () => {
        write('b.yaml', '');
        truncateSync(path('b.yaml'), 3 * 2 ** 30);
      },
    ],
  ];

  test.each(odd)('%s, there at the start', async (_, make) => {
    write('a.yaml');
    make();
    write('c.yaml');
    await start();
    await serves('a', 'c');
    write('d.yaml');
    await serves('a', 'c', 'd');
    rmSync(path('b.yaml'), { recursive: true });
    write('b.yaml');
    await serves('a', 'b', 'c', 'd');
  });

  test.each(odd)('%s, coming later', async (_, make) => {
    write('a.yaml');
    await start();
    await serves('a');
    make();
    write('c.yaml');
    await serves('a', 'c');
    poll();
    rmSync(path('a.yaml'));
    await serves('c');
  });

  test.each(odd.filter(([name]) => !/nothing|directory|pipe/.test(name)))(
    '%s is named once',
    async (_, make) => {
      make();
      await start();
      poll();
      write('c.yaml');
      await serves('c');
      expect(lines).toEqual([expect.stringContaining('b.yaml')]);
    },
  );
});

describe('the directory', () => {
  test('removed and made again, perhaps with the same inode: its changes are reported', async () => {
    await start();
    const { ino } = statSync(folder);
    // The kernel tells of the removal; what it says of the new directory comes from the new watch alone.
    for (let i = 0; i < 20; i++) {
      rmdirSync(folder);
      mkdirSync(folder);
      if (statSync(folder).ino === ino) break;
    }
    write('a.yaml');
    poll();
    await serves('a');
    write('b.yaml');
    await serves('a', 'b');
  });

  test('without inotify, whose limits a busy node reaches, changes come with the poll', async () => {
    write('a.yaml');
    const watchDirectory = () => {
      throw Object.assign(new Error('EMFILE: too many open files, watch'), { code: 'EMFILE' });
    };
    await start({ watchDirectory });
    await serves('a');
    write('b.yaml');
    poll();
    await serves('a', 'b');
    expect(lines).toEqual([expect.stringMatching(/^The kernel does not report changes.*EMFILE/)]);
  });
});
