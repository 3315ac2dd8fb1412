import { writeSync } from 'node:fs';

/** Where finished lines go. Never throws. */
export interface LogOutput {
  write(text: string): void;
  /** Whether lines may wait for `flush`. */
  readonly buffers: boolean;
  /** Writes out what is buffered. */
  flush(): void;
}

type WriteBytes = (fd: number, bytes: Uint8Array, offset: number) => number;

const longestWaitMilliseconds = 100;

/**
 * Writes synchronously to a file descriptor, so that the last lines before an exit are not lost. A reader that is gone
 * (EPIPE) or a full disk loses lines but never stops the program; a full pipe is waited for a little.
 */
export class DescriptorOutput implements LogOutput {
  readonly buffers = false;
  readonly #fd: number;
  readonly #writeBytes: WriteBytes;

  constructor(fd: number, writeBytes: WriteBytes = (to, bytes, offset) => writeSync(to, bytes, offset)) {
    this.#fd = fd;
    this.#writeBytes = writeBytes;
  }

  write(text: string): void {
    const bytes = Buffer.from(text);
    let offset = 0;
    let waited = 0;
    while (offset < bytes.length) {
      try {
        offset += this.#writeBytes(this.#fd, bytes, offset);
      } catch (error) {
        const code = (error as { code?: unknown }).code;
        if (code === 'EINTR') continue;
        if (code !== 'EAGAIN' || waited >= longestWaitMilliseconds) return;
        waited++;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
      }
    }
  }

  flush(): void {}
}

/** Holds text back until `size` bytes have come together or `flush` is called. */
export class BufferedOutput implements LogOutput {
  readonly buffers = true;
  readonly #output: LogOutput;
  readonly #size: number;
  #text = '';

  constructor(output: LogOutput, size: number) {
    this.#output = output;
    this.#size = size;
  }

  write(text: string): void {
    this.#text += text;
    if (this.#text.length >= this.#size) this.flush();
  }

  flush(): void {
    if (this.#text === '') return;
    const text = this.#text;
    this.#text = '';
    this.#output.write(text);
    this.#output.flush();
  }
}
