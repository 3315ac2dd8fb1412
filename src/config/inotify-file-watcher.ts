import { closeSync, constants, fstatSync, openSync, readSync, watch } from 'node:fs';
import type { FileWatcher } from './config-file-watch.ts';

/**
 * {@link FileWatcher} over inotify. The file is kept open for as long as it is watched: that way its removal shows as a
 * change of attributes (one name less), and only a move shows as `rename`. Does not keep the process alive.
 */
export const inotifyFileWatcher: FileWatcher = {
  open(path, onEvent, onError) {
    // A configuration may come through a pipe, where opening would wait for a writer.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const watcher = watch(path, { persistent: false }, (event) =>
        onEvent(event === 'rename' ? 'rename' : 'change'),
      );
      watcher.on('error', onError);
      return {
        state() {
          const stat = fstatSync(fd, { bigint: true });
          return {
            modified: stat.mtimeNs,
            accessed: stat.atimeNs,
            content: stat.isFile() ? readAll(fd) : '',
          };
        },
        close() {
          watcher.close();
          closeSync(fd);
        },
      };
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  },
};

function readAll(fd: number): string {
  const chunks: Buffer[] = [];
  const chunk = Buffer.alloc(64 * 1024);
  for (let position = 0; ; ) {
    const length = readSync(fd, chunk, 0, chunk.length, position);
    if (length === 0) return Buffer.concat(chunks).toString('utf8');
    chunks.push(Buffer.from(chunk.subarray(0, length)));
    position += length;
  }
}
