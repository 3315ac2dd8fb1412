import { describeError } from '../base/fairlead-error.ts';
import type { ApiEvent } from '../source/apiserver/event.ts';

/** The API server refuses events with longer notes (bytes). */
const LONGEST_NOTE = 1024;

/** Writes what concerns operators to the API as events (operations 3.9). Without an API they go nowhere. */
export class ApiEvents {
  readonly #nodeName: string;
  #post: (event: ApiEvent) => void = () => {};

  constructor(nodeName: string) {
    this.#nodeName = nodeName;
  }

  /** Events are written through this from now on. */
  connect(post: (event: ApiEvent) => void): void {
    this.#post = post;
  }

  /** The proxy is about to serve. */
  starting(): void {
    this.#onNode('Normal', 'Starting', '');
  }

  /** Kernel settings, by their paths, could not be made; the proxy goes on without them. */
  kernelSettingsRefused(paths: readonly string[]): void {
    const note = `kernel settings stay as they are on node ${this.#nodeName}, set them on the host: ${paths.join(', ')}`;
    this.#onNode('Warning', 'KernelSettingsRefused', note);
  }

  /** An HTTP server could not bind, which ends the process. */
  serverFailed(server: 'healthz' | 'metrics', error: unknown): void {
    const reason = server === 'healthz' ? 'FailedToStartProxierHealthcheck' : 'FailedToStartMetricServer';
    this.#onNode('Warning', reason, describeError(error));
  }

  /** The health check node port of a Service (`namespace/name`) could not be opened. */
  healthCheckPortClosed(service: string, port: number, error: unknown): void {
    const note = `node ${this.#nodeName} failed to start healthcheck "${service}" on port ${port}: ${describeError(error)}`;
    this.#onService(service, 'FailedToStartServiceHealthcheck', 'Listen', note);
  }

  /** A ServicePort (by its key) was left out of the rules because the kernel refused it. */
  setAside(servicePort: string, reason: string): void {
    const note = `${servicePort} is not served on node ${this.#nodeName}: ${reason}`;
    this.#onService(servicePort, 'ServicePortSetAside', 'Program', note);
  }

  #onNode(type: ApiEvent['type'], reason: string, note: string): void {
    const regarding = { kind: 'Node', name: this.#nodeName, namespace: '' } as const;
    this.#post({ type, reason, action: 'StartKubeProxy', note: shortened(note), regarding });
  }

  /** `service` may go on with a port behind the name. */
  #onService(service: string, reason: string, action: string, note: string): void {
    const [namespace = '', name = ''] = service.split(/[/:]/);
    const regarding = { kind: 'Service', namespace, name } as const;
    this.#post({ type: 'Warning', reason, action, note: shortened(note), regarding });
  }
}

function shortened(note: string): string {
  const bytes = Buffer.from(note);
  if (bytes.length <= LONGEST_NOTE) return note;
  // A character that was cut in two is dropped.
  return `${bytes
    .subarray(0, LONGEST_NOTE - 3)
    .toString()
    .replace(/\ufffd$/, '')}...`;
}
