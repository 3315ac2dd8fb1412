import type { Clock, Timer } from '../../base/clock.ts';
import { describeError } from '../../base/fairlead-error.ts';
import type { Logger } from '../../base/logger.ts';
import type { ClusterSinks } from '../../kube/cluster-sinks.ts';
import type { Source } from '../source.ts';
import { ManifestDirectory, type WatchDirectory } from './manifest-directory.ts';
import { ManifestFile } from './manifest-file.ts';
import { ObjectTable } from './object-table.ts';

export interface FilesSourceOptions {
  readonly directory: string;
  /** Deliver only the Node of this name; `undefined` delivers all. */
  readonly nodeName: string | undefined;
  /** How long a burst of changes must have been over before what is missing counts as removed. */
  readonly settleMilliseconds?: number;
  /** How often all files are looked at, for changes that the kernel does not report (links to elsewhere, networks). */
  readonly pollMilliseconds?: number;
}

export interface FilesSourceDependencies {
  readonly sinks: ClusterSinks;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly watchDirectory?: WatchDirectory;
}

/** How often a directory that could not be read at the start is looked for. */
const firstPollMilliseconds = 1000;

/** A burst that does not end is settled after this many settle times. */
const longestBurst = 10;

/**
 * Delivers the objects of a directory of manifests and follows its changes; see README.md for what counts as what.
 *
 * A change is acted upon in two steps. At once, everything that the changed file says is set. Once no change has come
 * for the settle time the file is read again and judged: what it no longer says is deleted, what is wrong with it is
 * logged. So a writer that has not finished, or an editor between removing and renaming, takes nothing away.
 */
export class FilesSource implements Source {
  readonly #options: Required<FilesSourceOptions>;
  readonly #dependencies: FilesSourceDependencies;
  readonly #table: ObjectTable;
  readonly #directory: ManifestDirectory;
  readonly #files = new Map<string, ManifestFile>();
  /** Signature of each file when it was last judged. */
  #signatures = new Map<string, string>();
  /** Files that changed since; `all` when the kernel did not say which. */
  #changed = new Set<string>();
  #allChanged = false;
  #burstStart: number | undefined;
  #settle: Timer | undefined;
  #poll: Timer | undefined;
  #work: Promise<void> = Promise.resolve();
  #synced = false;
  #closed = false;
  #lastProblem = '';
  #lastWatchProblem = '';
  #lastContact: number | undefined;

  constructor(options: FilesSourceOptions, dependencies: FilesSourceDependencies) {
    this.#options = { settleMilliseconds: 20, pollMilliseconds: 5000, ...options };
    this.#dependencies = dependencies;
    this.#table = new ObjectTable(dependencies.sinks, dependencies.logger, options.nodeName);
    this.#directory = new ManifestDirectory(
      options.directory,
      (name) => this.#onEvent(name),
      (error) => this.#reportWatch(error),
      dependencies.watchDirectory,
    );
  }

  start(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    this.#enqueue(() => this.#scan());
    this.#schedulePoll();
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        this.#closed = true;
        this.#settle?.cancel();
        this.#poll?.cancel();
        this.#directory.close();
        resolve(this.#work);
      });
    });
  }

  lastContact(): number | undefined {
    return this.#lastContact;
  }

  #onEvent(name: string | undefined): void {
    if (this.#closed) return;
    if (name === undefined) this.#allChanged = true;
    else this.#changed.add(name);
    this.#enqueue(() => this.#look(name));
    this.#scheduleSettle();
  }

  #scheduleSettle(): void {
    const { clock } = this.#dependencies;
    const { settleMilliseconds } = this.#options;
    const now = clock.monotonic();
    this.#burstStart ??= now;
    const left = this.#burstStart + settleMilliseconds * longestBurst - now;
    this.#settle?.cancel();
    this.#settle = clock.schedule(Math.max(0, Math.min(settleMilliseconds, left)), () => {
      this.#burstStart = undefined;
      this.#enqueue(() => this.#judge());
    });
  }

  #schedulePoll(): void {
    const { pollMilliseconds } = this.#options;
    const delay = this.#synced ? pollMilliseconds : Math.min(pollMilliseconds, firstPollMilliseconds);
    this.#poll = this.#dependencies.clock.schedule(delay, () => {
      this.#enqueue(() => this.#scan());
      this.#schedulePoll();
    });
  }

  /** Runs one piece of work after another; none of them rejects. */
  #enqueue(work: () => Promise<void>): void {
    this.#work = this.#work.then(async () => {
      if (this.#closed) return;
      try {
        await work();
        this.#lastProblem = '';
      } catch (error) {
        this.#report(error);
      }
    });
  }

  /** First step: sets what a changed file says now. */
  async #look(name: string | undefined): Promise<void> {
    const names = name === undefined ? this.#changedByStat() : [name];
    for (const changed of names) await this.#fileOf(changed).look();
  }

  /** Second step: judges the files that changed. */
  async #judge(): Promise<void> {
    const all = this.#allChanged;
    const names = new Set(all ? this.#changedByStat() : []);
    for (const name of this.#changed) names.add(name);
    this.#changed = new Set();
    this.#allChanged = false;
    await this.#judgeFiles([...names].sort());
  }

  /** Looks at the whole directory: at the start, and at each poll. */
  async #scan(): Promise<void> {
    const changed = this.#changedByStat();
    if (this.#synced && changed.length > 0) {
      // Somebody may be writing: take the two steps here as well.
      for (const name of changed) this.#onEvent(name);
      return;
    }
    await this.#judgeFiles(changed);
    if (this.#synced) return;
    this.#synced = true;
    const { services, endpointSlices, nodes, serviceCIDRs } = this.#dependencies.sinks;
    for (const sink of [services, endpointSlices, nodes, serviceCIDRs]) sink.synced();
  }

  async #judgeFiles(names: readonly string[]): Promise<void> {
    for (const name of names) {
      // Taken before the reading: a change in between is seen again at the next poll.
      const signature = this.#directory.signature(name);
      try {
        await this.#fileOf(name).judge();
      } catch (error) {
        // One file must not keep the others from being followed.
        this.#dependencies.logger.error('Manifest file failed, its last good version stays in force', error, {
          manifest: name,
        });
      }
      if (signature === undefined) {
        this.#signatures.delete(name);
        this.#files.delete(name);
      } else {
        this.#signatures.set(name, signature);
      }
    }
    this.#table.logConflicts();
  }

  /** Names of the files that are new, gone or different since they were last judged, sorted. */
  #changedByStat(): string[] {
    const present = this.#directory.list();
    this.#lastContact = this.#dependencies.clock.monotonic();
    const names = new Set([...present.keys(), ...this.#signatures.keys()]);
    return [...names].filter((name) => present.get(name) !== this.#signatures.get(name)).sort();
  }

  #fileOf(name: string): ManifestFile {
    let file = this.#files.get(name);
    if (file === undefined) {
      file = new ManifestFile(name, this.#directory, this.#table, this.#dependencies.logger);
      this.#files.set(name, file);
    }
    return file;
  }

  /** A directory that cannot be read leaves everything as it is; the same problem is logged once. */
  #report(error: unknown): void {
    const problem = describeError(error);
    if (problem === this.#lastProblem) return;
    this.#lastProblem = problem;
    this.#dependencies.logger.error(
      'Cannot read the manifest directory, what is known stays in force',
      error,
      {
        directory: this.#options.directory,
      },
    );
  }

  #reportWatch(error: unknown): void {
    const problem = describeError(error);
    if (problem === this.#lastWatchProblem) return;
    this.#lastWatchProblem = problem;
    const { directory, pollMilliseconds } = this.#options;
    this.#dependencies.logger.warn('The kernel does not report changes of the manifest directory', {
      directory,
      lookedAtEverySeconds: pollMilliseconds / 1000,
      problem,
    });
  }
}
