import { type BigIntStats, type FSWatcher, readdirSync, readFileSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';

const manifestName = /^[^.].*\.(?:yaml|yml|json)$/;

/** Whether a file of this name is a manifest: `*.yaml`, `*.yml`, `*.json`, not hidden. */
function isManifestName(name: string): boolean {
  return manifestName.test(name);
}

/** What happened in the directory, as far as the kernel told: the name of a manifest, or `undefined` for anything else. */
export type DirectoryEvent = string | undefined;

/**
 * The files of a manifest directory. Subdirectories are not looked into, as with `kubectl apply -f DIR`. Links are
 * followed, so that a mounted ConfigMap (`web.yaml` → `..data/web.yaml`, `..data` → a dated directory) reads as files.
 */
export class ManifestDirectory {
  readonly path: string;
  readonly #onEvent: (event: DirectoryEvent) => void;
  #watcher: FSWatcher | undefined;
  /** Device and inode that the watcher is on. */
  #watched = '';

  constructor(path: string, onEvent: (event: DirectoryEvent) => void) {
    this.path = path;
    this.#onEvent = onEvent;
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

  /** Signature of one file; `undefined` when there is no regular file of that name. */
  signature(name: string): string | undefined {
    const stats: BigIntStats | undefined = statSync(join(this.path, name), {
      bigint: true,
      throwIfNoEntry: false,
    });
    if (stats === undefined || !stats.isFile()) return undefined;
    return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
  }

  /** Content of a file, `undefined` when it is gone. Throws the file system's other errors. */
  read(name: string): string | undefined {
    try {
      return readFileSync(join(this.path, name), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  /** A directory that was replaced by another one of the same name has to be watched anew. */
  #watch(): void {
    const { dev, ino } = statSync(this.path);
    const identity = `${dev}:${ino}`;
    if (this.#watcher !== undefined && this.#watched === identity) return;
    this.close();
    this.#watched = identity;
    this.#watcher = watch(this.path, (_type, name) => {
      if (name === null || name.startsWith('..')) this.#onEvent(undefined);
      else if (isManifestName(name)) this.#onEvent(name);
    });
    // A watch that failed is missed by nobody but the clock: the poll goes on.
    this.#watcher.on('error', () => this.close());
  }
}
