import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ConfigFileWatch } from './config-file-watch.ts';
import { inotifyFileWatcher } from './inotify-file-watcher.ts';

let directory: string;
let file: string;
let open: ConfigFileWatch[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'config-file-watch-'));
  file = join(directory, 'config.conf');
  writeFileSync(file, 'mode: iptables\n');
  open = [];
});

afterEach(() => {
  for (const watch of open) watch.close();
  rmSync(directory, { recursive: true, force: true });
});

function start(path = file): ConfigFileWatch {
  const watch = new ConfigFileWatch(path, inotifyFileWatcher);
  watch.open();
  open.push(watch);
  return watch;
}

/** The code of the reason to exit, or `nothing` when none came up in a while. */
async function outcome(watch: ConfigFileWatch): Promise<string> {
  const nothing = new Promise<string>((resolve) => setTimeout(() => resolve('nothing'), 150));
  return Promise.race([watch.changed.then((reason) => reason.code), nothing]);
}

describe('what becomes of a changed configuration file (operations 3.10)', () => {
  test.each([
    ['written in place', () => writeFileSync(file, 'mode: ipvs\n')],
    ['written in place with what it held', () => writeFileSync(file, 'mode: iptables\n')],
    ['appended to', () => writeFileSync(file, 'x: 1\n', { flag: 'a' })],
    ['truncated', () => truncateSync(file)],
    ['renamed away', () => renameSync(file, `${file}.old`)],
  ])('%s: exit', async (_name, change) => {
    const watch = start();
    await new Promise((resolve) => setTimeout(resolve, 20));
    change();
    expect(await outcome(watch)).toBe('CONFIG_FILE_CHANGED');
  });

  test.each([
    ['read', () => readFileSync(file)],
    ['chmod', () => chmodSync(file, 0o600)],
    ['touch', () => execFileSync('touch', [file])],
    ['removed', () => unlinkSync(file)],
    [
      'removed and written anew',
      () => {
        unlinkSync(file);
        writeFileSync(file, 'mode: ipvs\n');
      },
    ],
    [
      'replaced by rename',
      () => {
        writeFileSync(`${file}.new`, 'mode: ipvs\n');
        renameSync(`${file}.new`, file);
        writeFileSync(file, 'mode: nftables\n');
      },
    ],
  ])('%s: nothing', async (_name, change) => {
    const watch = start();
    await new Promise((resolve) => setTimeout(resolve, 20));
    change();
    expect(await outcome(watch)).toBe('nothing');
  });

  test('a ConfigMap update swaps a symbolic link: nothing', async () => {
    for (const version of ['v1', 'v2']) {
      mkdirSync(join(directory, version));
      writeFileSync(join(directory, version, 'config.conf'), `version: ${version}\n`);
    }
    symlinkSync('v1', join(directory, '..data'));
    const path = join(directory, 'mounted.conf');
    symlinkSync('..data/config.conf', path);
    const watch = start(path);
    symlinkSync('v2', join(directory, '..data_tmp'));
    renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
    rmSync(join(directory, 'v1'), { recursive: true });
    expect(readFileSync(path, 'utf8')).toBe('version: v2\n');
    expect(await outcome(watch)).toBe('nothing');
  });

  test('a write to the file behind a symbolic link: exit', async () => {
    const path = join(directory, 'link.conf');
    symlinkSync('config.conf', path);
    const watch = start(path);
    writeFileSync(file, 'mode: ipvs\n');
    expect(await outcome(watch)).toBe('CONFIG_FILE_CHANGED');
  });

  test('a change is not lost before somebody asks, and nothing comes after close', async () => {
    const watch = start();
    writeFileSync(file, 'mode: ipvs\n');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await outcome(watch)).toBe('CONFIG_FILE_CHANGED');
    const closed = start();
    closed.close();
    closed.close();
    writeFileSync(file, 'mode: nftables\n');
    expect(await outcome(closed)).toBe('nothing');
  });
});

test('a pipe can be watched and does not block', () => {
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  expect(() => start(pipe)).not.toThrow();
});

test('a file that cannot be watched is an error that names it', () => {
  const watch = new ConfigFileWatch(join(directory, 'missing'), inotifyFileWatcher);
  expect(() => watch.open()).toThrow(expect.objectContaining({ code: 'CONFIG_FILE_UNWATCHABLE' }));
});

test('an error of the watcher is a reason to exit', async () => {
  let fail: (error: Error) => void = () => {};
  const watch = new ConfigFileWatch('x', {
    open(_path, _onEvent, onError) {
      fail = onError;
      return { state: () => ({ modified: 0n, accessed: 0n, content: '' }), close() {} };
    },
  });
  watch.open();
  fail(new Error('queue overflow'));
  expect((await watch.changed).code).toBe('CONFIG_FILE_UNWATCHABLE');
});
