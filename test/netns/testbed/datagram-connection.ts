import { createSocket, type Socket } from 'node:dgram';
import type { Answer, Failure } from './agent-protocol.ts';
import { classifyFailure, systemErrorCode } from './classify-failure.ts';
import type { Connection, ConnectionTarget } from './connection.ts';

/** A connected UDP socket: one datagram there, one back. Being connected, it learns of ICMP errors. */
export class DatagramConnection implements Connection {
  readonly #target: ConnectionTarget;
  #socket: Socket | undefined;
  #connected = false;
  #deliver: (outcome: Answer | Failure) => void = () => {};

  constructor(target: ConnectionTarget) {
    this.#target = target;
  }

  ask(timeoutMilliseconds: number): Promise<Answer | Failure> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#deliver({ failure: 'timeout' }), timeoutMilliseconds);
      this.#deliver = (outcome) => {
        clearTimeout(timer);
        this.#deliver = () => {};
        resolve(outcome);
      };
      if (this.#connected) this.#send();
      else this.#open();
    });
  }

  close(): void {
    this.#socket?.close();
  }

  #open(): void {
    const { host, port, bind, localPort } = this.#target;
    const socket = createSocket({ type: host.includes(':') ? 'udp6' : 'udp4' });
    this.#socket = socket;
    socket.on('error', (error) => this.#fail(error));
    socket.on('message', (message) => {
      const { server, client } = JSON.parse(message.toString()) as { server: string; client: string };
      this.#deliver({ server, client, local: socket.address().address });
    });
    socket.bind({ port: localPort, exclusive: true, ...(bind === null ? {} : { address: bind }) }, () => {
      socket.connect(port, host, (error?: Error) => {
        if (error !== undefined && error !== null) return this.#fail(error);
        this.#connected = true;
        this.#send();
      });
    });
  }

  #send(): void {
    this.#socket?.send('hello\n', (error) => {
      // EPERM says that a local filter took the datagram; a rejecting filter sends its ICMP error as well, so wait.
      if (error !== null && systemErrorCode(error) !== 'EPERM') this.#fail(error);
    });
  }

  #fail(error: Error): void {
    this.#deliver({ failure: classifyFailure(systemErrorCode(error), this.#target.host) });
  }
}
