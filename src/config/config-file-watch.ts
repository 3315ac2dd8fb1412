import { ConfigError } from './config-error.ts';

/** The file behind an open watch, whatever its path leads to by now. */
export interface WatchedFile {
  /** Times in nanoseconds, and the content. Throws when the file cannot be read any more. */
  state(): { readonly modified: bigint; readonly accessed: bigint; readonly content: string };
  close(): void;
}

/** The inotify of the system, as far as it is needed here. */
export interface FileWatcher {
  /**
   * Watches the file that a path leads to, through symbolic links, and not what may take its place later.
   * `change` is any change to the file, its attributes and number of names included; `rename` is the file itself being
   * moved. Throws when the file cannot be watched.
   */
  open(
    path: string,
    onEvent: (event: 'change' | 'rename') => void,
    onError: (error: Error) => void,
  ): WatchedFile;
}

/**
 * Notices when the configuration file is changed while the proxy runs, with upstream's outcome (operations 3.10): writing to the
 * file and renaming it away end the process; chmod, touch, removal, another file renamed over it and a ConfigMap update
 * (which swaps a symbolic link) do not, and go unnoticed from then on. There is no reload.
 */
export class ConfigFileWatch {
  /** Resolves with the reason to exit, also for a change before anybody looked; never rejects. Pending for ever without one. */
  readonly changed: Promise<ConfigError>;
  readonly #file: string;
  readonly #watcher: FileWatcher;
  #resolve: (reason: ConfigError) => void = () => {};
  #watched: WatchedFile | undefined;
  #modified = 0n;
  #content = '';

  constructor(file: string, watcher: FileWatcher) {
    this.#file = file;
    this.#watcher = watcher;
    this.changed = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Starts watching. Throws {@link ConfigError} `CONFIG_FILE_UNWATCHABLE`. */
  open(): void {
    try {
      const watched = this.#watcher.open(
        this.#file,
        (event) => this.#onEvent(event),
        (error) => this.#finish(unwatchable(this.#file, error)),
      );
      this.#watched = watched;
      const { modified, content } = watched.state();
      this.#modified = modified;
      this.#content = content;
    } catch (error) {
      this.close();
      throw unwatchable(this.#file, error);
    }
  }

  /** Ends the watch; closing twice is harmless. */
  close(): void {
    this.#watched?.close();
    this.#watched = undefined;
  }

  #onEvent(event: 'change' | 'rename'): void {
    if (this.#watched === undefined) return;
    try {
      if (event === 'change' && !this.#wasWritten(this.#watched)) return;
    } catch (error) {
      this.#finish(unwatchable(this.#file, error));
      return;
    }
    const how = event === 'rename' ? 'was moved away' : 'was written to';
    const message = `the configuration file ${this.#file} ${how}; it is read only at start`;
    this.#finish(new ConfigError({ code: 'CONFIG_FILE_CHANGED', file: this.#file }, message));
  }

  /**
   * Tells writing from a change of attributes, for which the system reports the same event. A write sets the time of
   * modification but not that of access, `touch` sets both to the same; where that does not decide the content does.
   */
  #wasWritten(watched: WatchedFile): boolean {
    const { modified, accessed, content } = watched.state();
    const touched = modified === this.#modified || modified === accessed;
    this.#modified = modified;
    return !touched || content !== this.#content;
  }

  #finish(reason: ConfigError): void {
    this.close();
    this.#resolve(reason);
  }
}

function unwatchable(file: string, cause: unknown): ConfigError {
  return new ConfigError(
    { code: 'CONFIG_FILE_UNWATCHABLE', file },
    `cannot watch the configuration file ${file}`,
    { cause },
  );
}
