import { connect, type Socket } from 'node:net';
import type { Answer, Failure } from './agent-protocol.ts';
import { classifyFailure, systemErrorCode } from './classify-failure.ts';
import type { Connection, ConnectionTarget } from './connection.ts';

/** A TCP connection to a test server: one line there, one line back. */
export class LineConnection implements Connection {
  readonly #target: ConnectionTarget;
  #socket: Socket | undefined;
  #local = '';
  #ended: string | undefined;
  #buffer = '';
  #wake: () => void = () => {};

  constructor(target: ConnectionTarget) {
    this.#target = target;
  }

  async ask(timeoutMilliseconds: number): Promise<Answer | Failure> {
    let expired = false;
    const timer = setTimeout(() => {
      expired = true;
      this.#wake();
    }, timeoutMilliseconds);
    try {
      this.#open();
      this.#socket?.write('hello\n');
      for (;;) {
        const end = this.#buffer.indexOf('\n');
        if (end >= 0) {
          const line = this.#buffer.slice(0, end);
          this.#buffer = this.#buffer.slice(end + 1);
          const { server, client } = JSON.parse(line) as { server: string; client: string };
          return { server, client, local: this.#local };
        }
        if (this.#ended !== undefined) return { failure: this.#ended };
        if (expired) return { failure: 'timeout' };
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the connection by a reset: no TIME_WAIT is left behind. */
  close(): void {
    this.#socket?.resetAndDestroy();
  }

  #open(): void {
    if (this.#socket !== undefined) return;
    const { host, port, bind, localPort } = this.#target;
    const socket = connect({ host, port, localPort, ...(bind === null ? {} : { localAddress: bind }) });
    this.#socket = socket;
    socket.setEncoding('utf8').setNoDelay(true);
    socket.on('connect', () => {
      this.#local = socket.localAddress ?? '';
    });
    socket.on('data', (text: string) => {
      this.#buffer += text;
      this.#wake();
    });
    socket.on('end', () => this.#end('closed'));
    socket.on('error', (error) => this.#end(classifyFailure(systemErrorCode(error), host)));
  }

  #end(reason: string): void {
    this.#ended ??= reason;
    this.#wake();
  }
}
