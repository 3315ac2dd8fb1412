import { hash } from 'node:crypto';
import { describeError } from '../../base/fairlead-error.ts';
import type { Logger } from '../../base/logger.ts';
import type { ManifestDirectory } from './manifest-directory.ts';
import { ManifestError } from './manifest-error.ts';
import type { ObjectTable } from './object-table.ts';
import { type Manifest, type ManifestObject, readManifest } from './read-manifest.ts';

/** Files above this size are not read while they may still be written: it would be done twice. */
const lookAtMostCharacters = 256 * 1024;

type Objects = ReadonlyMap<string, ManifestObject>;

/** One manifest file and what of it is in force. */
export class ManifestFile {
  readonly #name: string;
  readonly #directory: ManifestDirectory;
  readonly #table: ObjectTable;
  readonly #logger: Logger;
  /** Hash of the text last judged. */
  #textHash: string | undefined;
  /** The last text that could be parsed. */
  #manifest: Manifest | undefined;
  /** What the last text that could be parsed put in force. */
  #good: Objects = new Map();

  constructor(name: string, directory: ManifestDirectory, table: ObjectTable, logger: Logger) {
    this.#name = name;
    this.#directory = directory;
    this.#table = table;
    this.#logger = logger;
  }

  /**
   * Sets what the file says now and deletes nothing. A text that does not parse is left for later, and so is a last
   * document without a line end: it may be the first half of one.
   */
  async look(): Promise<void> {
    try {
      const text = this.#directory.read(this.#name);
      if (text === undefined || text.length > lookAtMostCharacters || hashOf(text) === this.#textHash) return;
      const withoutLast = !text.endsWith('\n') && !text.trimEnd().endsWith('}');
      const manifest = await readManifest(text, this.#manifest?.documents, { withoutLast });
      const objects = new Map(this.#table.objectsOf(this.#name));
      for (const [key, object] of this.#inForce(manifest, () => {})) objects.set(key, object);
      this.#table.replace(this.#name, objects);
    } catch (error) {
      if (error instanceof ManifestError || isFileSystemError(error)) return;
      throw error;
    }
  }

  /** Puts in force what the file says, now that it is taken for complete, and logs what is wrong with it. */
  async judge(): Promise<void> {
    let text: string | undefined;
    try {
      text = this.#directory.read(this.#name);
    } catch (error) {
      if (!isFileSystemError(error)) throw error;
      this.#logger.warn('Manifest file cannot be read, its last good version stays in force', {
        manifest: this.#name,
        problem: describeError(error),
      });
      return;
    }
    const textHash = hashOf(text);
    if (textHash === this.#textHash) {
      // A look in between may have seen another text.
      this.#table.replace(this.#name, this.#good);
      return;
    }
    this.#textHash = textHash;
    try {
      this.#manifest = await readManifest(text ?? '', this.#manifest?.documents);
      this.#good = this.#inForce(this.#manifest, (message, at, values) => {
        this.#logger.warn(message, { manifest: `${this.#name}:${at}`, ...values });
      });
      this.#logIgnored(this.#manifest);
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      this.#logger.warn('Manifest file cannot be parsed, its last good version stays in force', {
        manifest: `${this.#name}:${error.detail.line}`,
        problem: error.message,
      });
    }
    this.#table.replace(this.#name, this.#good);
  }

  /**
   * The objects that this manifest puts in force: its own, and for each one that cannot be used its last good version.
   * An object that the file names twice counts where it stands first.
   */
  #inForce(manifest: Manifest, warn: (message: string, line: number, values: object) => void): Objects {
    const objects = new Map<string, ManifestObject>();
    for (const object of manifest.objects) {
      const first = objects.get(object.key);
      if (first === undefined) objects.set(object.key, object);
      else {
        warn('Object is twice in a manifest file, the first one is followed', object.line, {
          object: object.key,
          followed: `${this.#name}:${first.line}`,
        });
      }
    }
    for (const { key, error } of manifest.rejected) {
      const kept = key === undefined || objects.has(key) ? undefined : this.#good.get(key);
      if (kept !== undefined) objects.set(kept.key, kept);
      warn(
        kept === undefined
          ? 'Manifest object cannot be used'
          : 'Manifest object cannot be used, its last good version stays in force',
        error.detail.line,
        { ...(key === undefined ? {} : { object: key }), problem: error.message },
      );
    }
    return objects;
  }

  #logIgnored({ ignoredKinds }: Manifest): void {
    if (ignoredKinds.length === 0 || !this.#logger.enabled(2)) return;
    this.#logger.verbose(2, 'Manifest file has kinds that a Service proxy does not read', {
      manifest: this.#name,
      kinds: ignoredKinds.join(','),
    });
  }
}

function hashOf(text: string | undefined): string | undefined {
  return text === undefined ? undefined : hash('sha1', text);
}

function isFileSystemError(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).syscall !== undefined;
}
