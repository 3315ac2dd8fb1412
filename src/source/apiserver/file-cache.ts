import { readFile, stat } from 'node:fs/promises';
import { describeError } from '../../base/fairlead-error.ts';
import type { Logger } from '../../base/logger.ts';
import { CredentialsError } from './credentials-error.ts';

interface CachedFile {
  readonly stamp: string;
  readonly text: string;
  failed: boolean;
}

/**
 * Text of files that others replace. Each read looks at the file's inode, size and time of change, following symbolic
 * links (the kubelet swaps one to rotate a token), and reads only what changed.
 */
export class FileCache {
  readonly #logger: Logger;
  readonly #files = new Map<string, CachedFile>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Text of a file; `use` names its purpose in messages. While a file that was read before cannot be read, its last
   * content is given, and one line is logged. Throws CredentialsError CREDENTIALS_FILE_UNREADABLE when there is none.
   */
  async read(file: string, use: string): Promise<string> {
    const known = this.#files.get(file);
    try {
      const { ino, dev, size, mtimeMs, ctimeMs } = await stat(file);
      const stamp = `${dev}:${ino}:${size}:${mtimeMs}:${ctimeMs}`;
      if (known?.stamp === stamp) return known.text;
      const text = await readFile(file, 'utf8');
      if (text.trim() === '') throw new Error('the file is empty');
      this.#files.set(file, { stamp, text, failed: false });
      return text;
    } catch (cause) {
      if (known === undefined)
        throw new CredentialsError({ code: 'CREDENTIALS_FILE_UNREADABLE', file, use }, { cause });
      if (!known.failed)
        this.#logger.warn(`Cannot read the ${use}; the last one stays in use`, {
          file,
          err: describeError(cause),
        });
      known.failed = true;
      return known.text;
    }
  }

  /** Makes the next reads look at the content again. */
  forget(): void {
    for (const [file, cached] of this.#files) this.#files.set(file, { ...cached, stamp: '' });
  }
}
