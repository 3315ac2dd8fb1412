import type { Server } from 'node:net';
import type { Clock, Timer } from '../base/clock.ts';
import type { IpFamily } from '../base/ip.ts';
import type { Logger } from '../base/logger.ts';
import { DEFAULT_HTTP_LIMITS, GuardedHttpServer, type HttpLimits } from './guarded-http-server.ts';
import { type HttpAnswer, type HttpRequest, json, notFound } from './http-answer.ts';
import { ListenError, listen } from './listen.ts';

const RETRY_MILLISECONDS = 15_000;

/** Shared by all health check ports of a family. */
const LIMITS: HttpLimits = { ...DEFAULT_HTTP_LIMITS, connections: 1024 };

export interface ServiceHealthDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether the proxy keeps up, all families together. */
  readonly isProxyHealthy: () => boolean;
  /**
   * A health check port could not be opened. Called at each sync as long as that lasts (event
   * `FailedToStartServiceHealthcheck`), while the log has it once; retries in between are silent.
   */
  readonly onListenFailure: (service: string, port: number, error: ListenError) => void;
  readonly limits?: HttpLimits;
}

type ListenFailure = [service: string, port: number, error: ListenError];

interface HealthCheckPort {
  /** The Service that answers here, `namespace/name`. */
  owner: string;
  /** By listen address. */
  readonly listeners: Map<string, Server>;
}

/**
 * The health check node ports of Services with external traffic policy Local, for one IP family (operations 4.2). A port
 * stays open as long as any Service names it, also while it passes from one Service to another, so a load balancer
 * never sees a gap that means nothing.
 */
export class ServiceHealthServer {
  readonly #family: IpFamily;
  readonly #hosts: readonly string[];
  readonly #dependencies: ServiceHealthDependencies;
  readonly #http: GuardedHttpServer;
  readonly #ports = new Map<number, HealthCheckPort>();
  /** Ready endpoints on this node, per Service that has a port. */
  #counts = new Map<string, number>();
  /** What the last sync asked for. */
  #wanted: ReadonlyMap<string, number> = new Map();
  /** What the log last said of each Service whose port could not be opened. */
  #logged: ReadonlyMap<string, string> = new Map();
  #work: Promise<void> = Promise.resolve();
  #retry: Timer | undefined;
  #closed = false;

  /**
   * @param options.addresses node addresses to listen on (of this family; others are ignored); undefined means all. An
   *   empty list opens nothing and is no error.
   */
  constructor(
    options: { readonly family: IpFamily; readonly addresses: readonly string[] | undefined },
    dependencies: ServiceHealthDependencies,
  ) {
    this.#family = options.family;
    const wildcard = options.family === 'IPv6' ? '::' : '0.0.0.0';
    const addresses = options.addresses ?? [wildcard];
    const ofFamily = addresses.filter((address) => address.includes(':') === (options.family === 'IPv6'));
    this.#hosts = [...new Set(ofFamily)];
    this.#dependencies = dependencies;
    this.#http = new GuardedHttpServer((request) => this.#answer(request), {
      limits: LIMITS,
      ...dependencies,
    });
  }

  /**
   * Opens and closes ports so that they match, and sets the number of ready local endpoints; to be called after each
   * successful sync. Answers on open ports change at once. Resolves when every port has been tried; never rejects.
   *
   * @param services health check node port by Service (`namespace/name`).
   * @param localReady distinct ready endpoint addresses on this node by Service; absent means 0, unknown ones are dropped.
   */
  sync(services: ReadonlyMap<string, number>, localReady: ReadonlyMap<string, number>): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#wanted = new Map(services);
    this.#counts = new Map();
    for (const service of services.keys()) this.#counts.set(service, localReady.get(service) ?? 0);
    return this.#reconcile(true);
  }

  /** Ports that answer, with the Service they answer for. */
  openPorts(): ReadonlyMap<number, string> {
    const open = new Map<number, string>();
    for (const [port, { owner, listeners }] of this.#ports) if (listeners.size > 0) open.set(port, owner);
    return open;
  }

  /** Closes all ports and connections. */
  close(): void {
    this.#closed = true;
    this.#retry?.cancel();
    for (const port of [...this.#ports.keys()]) this.#closePort(port);
    this.#http.closeConnections();
  }

  #reconcile(report: boolean): Promise<void> {
    const failures: ListenFailure[] = [];
    const owners = this.#assignPorts((service, port, error) => failures.push([service, port, error]));
    for (const port of [...this.#ports.keys()]) if (!owners.has(port)) this.#closePort(port);
    for (const [port, owner] of owners) {
      const present = this.#ports.get(port);
      if (present === undefined) this.#ports.set(port, { owner, listeners: new Map() });
      else present.owner = owner;
    }
    this.#work = this.#work.then(async () => {
      const incomplete = [...this.#ports].filter(([, { listeners }]) => listeners.size < this.#hosts.length);
      for (const [port, state] of incomplete) {
        const error = await this.#openPort(port, state);
        if (error !== undefined) failures.push([state.owner, port, error]);
      }
      this.#scheduleRetry(failures.length > 0);
      this.#logFailures(failures);
      if (report) for (const failure of failures) this.#dependencies.onListenFailure(...failure);
    });
    return this.#work;
  }

  /** One Service per port: the one that has it keeps it, else the first by name; the others are told. */
  #assignPorts(refuse: (service: string, port: number, error: ListenError) => void): Map<number, string> {
    const owners = new Map<number, string>();
    for (const [port, { owner }] of this.#ports)
      if (this.#wanted.get(owner) === port) owners.set(port, owner);
    for (const [service, port] of [...this.#wanted].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const owner = owners.get(port);
      if (owner === undefined) owners.set(port, service);
      else if (owner !== service) {
        const message = `health check node port ${port} is in use by Service ${owner}`;
        refuse(service, port, new ListenError({ code: 'HEALTH_CHECK_PORT_TAKEN', port, owner }, message));
      }
    }
    return owners;
  }

  /** Opens what is missing; all addresses or none, so that a port never answers on some of them only. */
  async #openPort(port: number, state: HealthCheckPort): Promise<ListenError | undefined> {
    for (const host of this.#hosts) {
      if (state.listeners.has(host) || !this.#isCurrent(port, state)) continue;
      try {
        const address = { host, port, ipv6Only: this.#family === 'IPv6' };
        const server = await listen(address, this.#http);
        if (!this.#isCurrent(port, state)) server.close();
        else state.listeners.set(host, server);
      } catch (error) {
        this.#closeListeners(port, state);
        return error as ListenError;
      }
    }
    return undefined;
  }

  #isCurrent(port: number, state: HealthCheckPort): boolean {
    return this.#ports.get(port) === state;
  }

  #closePort(port: number): void {
    const state = this.#ports.get(port)!;
    this.#ports.delete(port);
    this.#closeListeners(port, state);
  }

  #closeListeners(port: number, state: HealthCheckPort): void {
    for (const server of state.listeners.values()) server.close();
    state.listeners.clear();
    this.#http.closeConnections((socket) => socket.localPort === port);
  }

  #scheduleRetry(needed: boolean): void {
    this.#retry?.cancel();
    this.#retry = undefined;
    if (!needed || this.#closed) return;
    this.#retry = this.#dependencies.clock.schedule(RETRY_MILLISECONDS, () => void this.#reconcile(false));
  }

  #logFailures(failures: readonly ListenFailure[]): void {
    for (const [service, port, error] of failures) {
      if (this.#logged.get(service) !== error.message)
        this.#dependencies.logger.error('Cannot serve a health check node port', error, { service, port });
    }
    this.#logged = new Map(failures.map(([service, , error]) => [service, error.message]));
  }

  #answer(request: HttpRequest): HttpAnswer {
    const service = this.#ports.get(request.localPort)?.owner;
    if (service === undefined) return notFound();
    const count = this.#counts.get(service) ?? 0;
    const proxyHealthy = this.#dependencies.isProxyHealthy();
    const slash = service.indexOf('/');
    const body = [
      '{',
      '\t"service": {',
      `\t\t"namespace": ${JSON.stringify(service.slice(0, slash))},`,
      `\t\t"name": ${JSON.stringify(service.slice(slash + 1))}`,
      '\t},',
      `\t"localEndpoints": ${count},`,
      `\t"serviceProxyHealthy": ${proxyHealthy}`,
      '}',
    ].join('\n');
    return json(count > 0 && proxyHealthy ? 200 : 503, body, {
      'X-Load-Balancing-Endpoint-Weight': String(count),
    });
  }
}
