import type {
  ApiServerOptions,
  RecordedEvent,
  RequestRecord,
  TlsIdentity,
} from '../../cluster/api-server.ts';
import { LineProcess } from '../testbed/line-process.ts';
import type { ApiServerRequest } from './api-server-child.ts';

/** A Kubernetes object as a test writes it, broken ones included. */
export interface TestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** The stand-in API server on the loopback address of a namespace. */
export class ApiServerProcess {
  readonly #process: LineProcess;
  #url = '';

  private constructor(started: LineProcess) {
    this.#process = started;
  }

  /** `namespace` is the full name. */
  static async start(
    namespace: string,
    options: Omit<ApiServerOptions, 'store'> = {},
  ): Promise<ApiServerProcess> {
    const child = LineProcess.start(namespace, new URL('./api-server-child.ts', import.meta.url));
    const started = new ApiServerProcess(child);
    await started.renew(options);
    return started;
  }

  get url(): string {
    return this.#url;
  }

  /** A new server without objects, on another port; the one before is gone. */
  async renew(options: Omit<ApiServerOptions, 'store'> = {}): Promise<void> {
    const request: ApiServerRequest = { op: 'listen', options };
    this.#url = (await this.#process.request(request)) as string;
  }

  async apply(...objects: readonly TestObject[]): Promise<void> {
    await this.control('POST /apply', objects);
  }

  async delete(kind: string, name: string, namespace = 'default'): Promise<void> {
    await this.control('POST /delete', { kind, namespace, name });
  }

  async requests(): Promise<readonly RequestRecord[]> {
    return (await this.control('GET /requests')) as RequestRecord[];
  }

  async events(): Promise<readonly RecordedEvent[]> {
    return (await this.control('GET /events')) as RecordedEvent[];
  }

  /** A command of the control port, such as `POST /watches/cut`; see test/cluster/README.md. */
  control(command: string, body: unknown = {}): Promise<unknown> {
    const request: ApiServerRequest = { op: 'control', command, body };
    return this.#process.request(request);
  }

  async setTls(tls: TlsIdentity): Promise<void> {
    const request: ApiServerRequest = { op: 'setTls', tls };
    await this.#process.request(request);
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}
