import { connect, type Socket } from 'node:net';

/** A loopback address that no other test uses at this moment: ports given back are still free when taken again. */
export function loopbackAddress(): string {
  const byte = () => 1 + Math.floor(Math.random() * 254);
  return `127.${byte()}.${byte()}.${byte()}`;
}

/** A client connection that says exactly what it is told, and notes what comes back. */
export class RawClient {
  readonly socket: Socket;
  received = '';
  readonly #closed = Promise.withResolvers<void>();

  constructor(port: number, host = '127.0.0.1') {
    this.socket = connect({ port, host, allowHalfOpen: true });
    this.socket.on('data', (chunk) => {
      this.received += chunk.toString('latin1');
    });
    this.socket.on('error', () => {});
    this.socket.on('end', () => this.socket.end());
    this.socket.on('close', () => this.#closed.resolve());
  }

  send(text: string | Uint8Array): this {
    this.socket.write(text);
    return this;
  }

  /** Closes this side only. */
  finish(): this {
    this.socket.end();
    return this;
  }

  /** Resolves when the connection is gone, by either side. */
  closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Resolves when the text received satisfies the condition; rejects after two seconds. */
  async until(condition: (received: string) => boolean): Promise<string> {
    const deadline = Date.now() + 2000;
    while (!condition(this.received)) {
      if (Date.now() > deadline) throw new Error(`not received in time: ${JSON.stringify(this.received)}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    return this.received;
  }
}

/** Sends a request on a connection of its own and returns all bytes of the answer, without the Date header. */
export async function rawExchange(port: number, request: string, host?: string): Promise<string> {
  const client = new RawClient(port, host).send(request);
  await client.closed();
  return client.received.replace(/Date: [^\r]*\r\n/, '');
}

/** The bytes of a request whose answer ends with the connection. */
export function rawRequest(method: string, target: string, headers: readonly string[] = []): string {
  return `${[`${method} ${target} HTTP/1.1`, 'Host: x', 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`;
}
