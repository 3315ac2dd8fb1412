import {
  type BigIntStats,
  closeSync,
  constants,
  type FSWatcher,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  watch,
} from 'node:fs';
import { join } from 'node:path';

const manifestName = /^[^.].*\.(?:yaml|yml|json)$/;

/** Far above the largest cluster, and below what would fill the node's memory. */
const largestFile = 256 * 1024 * 1024;

/** Whether a file of this name is a manifest: `*.yaml`, `*.yml`, `*.json`, not hidden. */
function isManifestName(name: string): boolean {
  return manifestName.test(name);
}

/** What happened in the directory, as far as the kernel told: the name of a manifest, or `undefined` for anything else. */
export type DirectoryEvent = string | undefined;

/** As `fs.watch`, as far as it is used here. */
export type WatchDirectory = (
  path: string,
  listener: (type: string, name: string | null) => void,
) => FSWatcher;

/**
 * The files of a manifest directory. Subdirectories are not looked into, as with `kubectl apply -f DIR`. Links are
 * followed, so that a mounted ConfigMap (`web.yaml` → `..data/web.yaml`, `..data` → a dated directory) reads as files.
 */
export class ManifestDirectory {
  readonly path: string;
  readonly #onEvent: (event: DirectoryEvent) => void;
  readonly #onWatchFailure: (error: unknown) => void;
  readonly #watchDirectory: WatchDirectory;
  #watcher: FSWatcher | undefined;
  /** Device, inode and time of birth of the directory that the watcher is on. */
  #watched = '';

  /** `onWatchFailure` is called when the kernel refuses to report changes, at each attempt. */
  constructor(
    path: string,
    onEvent: (event: DirectoryEvent) => void,
    onWatchFailure: (error: unknown) => void,
    watchDirectory: WatchDirectory = watch,
  ) {
    this.path = path;
    this.#onEvent = onEvent;
    this.#onWatchFailure = onWatchFailure;
    this.#watchDirectory = watchDirectory;
  }

  /**
   * Names of the manifests with a signature that changes when their content does, sorted by name. Puts the watch on the
   * directory if it is not on this very one. Throws the file system's error when the directory cannot be read.
   */
  list(): Map<string, string> {
    this.#watch();
    const files = new Map<string, string>();
    for (const name of readdirSync(this.path).filter(isManifestName).sort()) {
      const signature = this.signature(name);
      if (signature !== undefined) files.set(name, signature);
    }
    return files;
  }

  /**
   * Signature of one file; `undefined` when there is no regular file of that name. One that cannot be looked at, such
   * as a link to itself, has a signature too, so that it is told from one that is gone.
   */
  signature(name: string): string | undefined {
    let stats: BigIntStats | undefined;
    try {
      stats = statSync(join(this.path, name), { bigint: true, throwIfNoEntry: false });
    } catch (error) {
      return `unreadable:${(error as NodeJS.ErrnoException).code}`;
    }
    if (stats === undefined || !stats.isFile()) return undefined;
    return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
  }

  /** Content of a file, `undefined` when it is gone or no regular file. Throws the file system's other errors. */
  read(name: string): string | undefined {
    let descriptor: number;
    try {
      // Opening a pipe would wait for a writer.
      descriptor = openSync(join(this.path, name), constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // ENXIO: a socket.
      if (code === 'ENOENT' || code === 'ENXIO') return undefined;
      throw error;
    }
    try {
      const stats = fstatSync(descriptor);
      if (!stats.isFile()) return undefined;
      if (stats.size <= largestFile) return readFileSync(descriptor, 'utf8');
      throw Object.assign(new Error(`EFBIG: ${stats.size} bytes are too large for a manifest`), {
        code: 'EFBIG',
        syscall: 'read',
      });
    } finally {
      closeSync(descriptor);
    }
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  /** A directory that was replaced by another one of the same name has to be watched anew. */
  #watch(): void {
    const { dev, ino, birthtimeNs } = statSync(this.path, { bigint: true });
    // A new directory often gets the inode number of the one that was just removed.
    const identity = `${dev}:${ino}:${birthtimeNs}`;
    if (this.#watcher !== undefined && this.#watched === identity) return;
    this.close();
    this.#watched = identity;
    try {
      this.#watcher = this.#watchDirectory(this.path, (_type, name) => {
        if (name === null || name.startsWith('..')) this.#onEvent(undefined);
        else if (isManifestName(name)) this.#onEvent(name);
      });
    } catch (error) {
      // The limit on inotify instances is reached soon on a busy node. The poll goes on without.
      this.#onWatchFailure(error);
      return;
    }
    // A watch that failed is missed by nobody but the clock: the poll goes on.
    this.#watcher.on('error', () => this.close());
  }
}
