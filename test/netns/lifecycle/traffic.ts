import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { connect, type Socket } from 'node:net';
import { systemErrorCode } from '../testbed/classify-failure.ts';

/** What a client does again and again until it is told to stop. */
export interface FlowSpec {
  /**
   * `connect`: a new TCP connection each time, one line there and back; `hold`: lines on one TCP connection;
   * `datagrams`: UDP from one source port; `retry`: as `connect`, from one source port, given up when the next one is
   * due: it fails as long as it takes.
   */
  readonly kind: 'connect' | 'hold' | 'datagrams' | 'retry';
  readonly host: string;
  readonly port: number;
  readonly everyMilliseconds: number;
  /** Source port of `retry`. */
  readonly localPort?: number;
}

/** What came of a flow. */
export interface FlowReport {
  readonly sent: number;
  readonly answered: number;
  /** Answers by the address of the server. */
  readonly servers: Readonly<Record<string, number>>;
  /** The first twenty, with the time since the start. */
  readonly failures: readonly string[];
}

/** A lost SYN shows as a connection that takes a second longer: the kernel sends it again. */
const LOST_SYN_MILLISECONDS = 950;
const MOST_FAILURES = 20;

/** Runs flows side by side in one process. */
export class Traffic {
  readonly #flows: readonly Flow[];
  readonly #lag = new EventLoopLag();

  constructor(specs: readonly FlowSpec[]) {
    const start = performance.now();
    this.#flows = specs.map((spec) => {
      const parts = { spec, start, lag: this.#lag };
      return new FLOWS[spec.kind](parts);
    });
    for (const flow of this.#flows) flow.begin();
  }

  /** Stops sending, waits for the answers that are under way, and reports, in the order of the specs. */
  async stop(): Promise<FlowReport[]> {
    const reports = await Promise.all(this.#flows.map((flow) => flow.stop()));
    this.#lag.close();
    return reports;
  }

  /** Answers so far, in the order of the specs. */
  get answered(): number[] {
    return this.#flows.map((flow) => flow.answered);
  }
}

interface Parts {
  readonly spec: FlowSpec;
  readonly start: number;
  readonly lag: EventLoopLag;
}

abstract class Flow {
  protected readonly spec: FlowSpec;
  readonly #start: number;
  protected readonly lag: EventLoopLag;
  readonly #servers = new Map<string, number>();
  readonly #failures: string[] = [];
  #sent = 0;
  #answered = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor({ spec, start, lag }: Parts) {
    this.spec = spec;
    this.#start = start;
    this.lag = lag;
  }

  begin(): void {
    this.open();
    this.#timer = setInterval(() => this.tick(), this.spec.everyMilliseconds);
  }

  get answered(): number {
    return this.#answered;
  }

  async stop(): Promise<FlowReport> {
    clearInterval(this.#timer);
    await this.drained();
    return {
      sent: this.#sent,
      answered: this.#answered,
      servers: Object.fromEntries(this.#servers),
      failures: this.#failures,
    };
  }

  protected abstract open(): void;
  protected abstract tick(): void;
  protected abstract drained(): Promise<void>;

  protected noteSent(): void {
    this.#sent += 1;
  }

  protected noteAnswer(line: string): void {
    const { server } = JSON.parse(line) as { server: string };
    this.#answered += 1;
    this.#servers.set(server, (this.#servers.get(server) ?? 0) + 1);
  }

  protected noteFailure(what: string): void {
    if (this.#failures.length >= MOST_FAILURES) return;
    this.#failures.push(`${what} after ${Math.round(performance.now() - this.#start)} ms`);
  }
}

class ConnectFlow extends Flow {
  readonly #open = new Set<Promise<void>>();

  protected open(): void {}

  protected tick(): void {
    const done = this.#once().finally(() => this.#open.delete(done));
    this.#open.add(done);
  }

  protected async drained(): Promise<void> {
    await Promise.all(this.#open);
  }

  #once(): Promise<void> {
    this.noteSent();
    const begin = performance.now();
    return new Promise((resolve) => {
      const { host, port } = this.spec;
      const socket = connect({ host, port, noDelay: true });
      let text = '';
      const timer = setTimeout(() => finish('no answer'), 3000);
      const finish = (failure?: string) => {
        clearTimeout(timer);
        socket.resetAndDestroy();
        const took = performance.now() - begin - this.lag.since(begin);
        if (failure !== undefined) this.noteFailure(failure);
        else if (took > LOST_SYN_MILLISECONDS) this.noteFailure(`answer took ${Math.round(took)} ms`);
        resolve();
      };
      socket.setEncoding('utf8').write('hello\n');
      socket.on('data', (chunk: string) => {
        text += chunk;
        if (!text.endsWith('\n')) return;
        this.noteAnswer(text);
        finish();
      });
      socket.on('end', () => finish('closed'));
      socket.on('error', (error) => finish(systemErrorCode(error) ?? String(error)));
    });
  }
}

class HeldFlow extends Flow {
  #socket: Socket | undefined;
  #asked = 0;
  #rest = '';

  protected open(): void {
    const { host, port } = this.spec;
    const socket = connect({ host, port, noDelay: true });
    this.#socket = socket;
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (this.#rest + chunk).split('\n');
      this.#rest = lines.pop() ?? '';
      for (const line of lines) {
        this.#asked -= 1;
        this.noteAnswer(line);
      }
    });
    socket.on('error', (error) => this.noteFailure(systemErrorCode(error) ?? String(error)));
    socket.on('end', () => this.noteFailure('closed'));
  }

  protected tick(): void {
    if (this.#socket?.destroyed !== false) return;
    this.noteSent();
    this.#asked += 1;
    this.#socket.write('hello\n');
  }

  protected async drained(): Promise<void> {
    const deadline = performance.now() + 3000;
    while (this.#asked > 0 && performance.now() < deadline) await delay(10);
    if (this.#asked > 0) this.noteFailure(`${this.#asked} lines without answer`);
    this.#socket?.destroy();
  }
}

class DatagramFlow extends Flow {
  #socket: UdpSocket | undefined;

  protected open(): void {
    const { host, port } = this.spec;
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    this.#socket = socket;
    socket.on('message', (message) => this.noteAnswer(message.toString()));
    socket.on('error', (error) => this.noteFailure(systemErrorCode(error) ?? String(error)));
    socket.connect(port, host);
  }

  protected tick(): void {
    try {
      this.#socket?.send('hello');
    } catch {
      return; // Not connected yet.
    }
    this.noteSent();
  }

  protected async drained(): Promise<void> {
    await delay(300);
    this.#socket?.close();
  }
}

class RetryFlow extends Flow {
  #socket: Socket | undefined;

  protected open(): void {}

  protected tick(): void {
    this.#socket?.resetAndDestroy();
    this.noteSent();
    const { host, port, localPort } = this.spec;
    const socket = connect({ host, port, localPort: localPort!, noDelay: true });
    this.#socket = socket;
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.endsWith('\n')) this.noteAnswer(text);
    });
    socket.on('error', (error) => this.noteFailure(systemErrorCode(error) ?? String(error)));
    socket.write('hello\n');
  }

  protected async drained(): Promise<void> {
    this.#socket?.resetAndDestroy();
  }
}

const FLOWS = { connect: ConnectFlow, hold: HeldFlow, datagrams: DatagramFlow, retry: RetryFlow } as const;

/** How long this process itself was not scheduled: no statement about the network. */
class EventLoopLag {
  readonly #lags: { readonly at: number; readonly milliseconds: number }[] = [];
  readonly #timer: NodeJS.Timeout;
  #last = performance.now();

  constructor() {
    this.#timer = setInterval(() => {
      const now = performance.now();
      if (now - this.#last > 50) this.#lags.push({ at: now, milliseconds: now - this.#last });
      this.#last = now;
    }, 10);
  }

  since(begin: number): number {
    let sum = 0;
    for (const { at, milliseconds } of this.#lags) if (at >= begin) sum += milliseconds;
    return sum;
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
