import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { ClusterSinks } from '../../kube/cluster-sinks.ts';
import type { KubeObject } from '../../kube/kind-decoder.ts';
import type { ObjectSink } from '../../kube/object-sink.ts';
import type { Source } from '../source.ts';
import { ApiClient, type ApiClientObserver } from './api-client.ts';
import { type ApiResource, endpointSlices, nodeNamed, serviceCIDRs, services } from './api-resource.ts';
import { CredentialProvider } from './credentials.ts';
import { acceptOf } from './encoding.ts';
import type { ApiEvent } from './event.ts';
import { EventPoster } from './event-poster.ts';
import { ListWatch } from './list-watch.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';

export interface ApiServerSourceOptions {
  /** Path of a kubeconfig and the server of `--master`; both `''` mean the service account of this pod. */
  readonly kubeconfig: string;
  readonly master: string;
  /** `clientConnection`. */
  readonly acceptContentTypes: string;
  readonly contentType: string;
  readonly qps: number;
  readonly burst: number;
  /** Name of the Node to watch. */
  readonly nodeName: string;
  /** Kernel host name, for events. */
  readonly hostName: string;
  /** Version of this program, for the header `User-Agent`. */
  readonly version: string;
  readonly serviceAccountDirectory?: string;
  /** For tests and special servers. */
  readonly reflector?: Omit<ReflectorOptions, 'accept'>;
  readonly answerTimeoutMs?: number;
}

export interface ApiServerSourceDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly env: NodeJS.ProcessEnv;
  /** From 0 to below 1; `Math.random` where absent. */
  readonly random?: () => number;
  readonly observer?: ApiClientObserver;
}

/** Delivers Services, EndpointSlices, this Node and the ServiceCIDRs from a Kubernetes API server (operations 3.8). */
export class ApiServerSource implements Source {
  readonly #options: ApiServerSourceOptions;
  readonly #dependencies: ApiServerSourceDependencies;
  readonly #credentials: CredentialProvider;
  readonly #client: ApiClient;
  readonly #events: EventPoster;
  readonly #reflectors: readonly {
    readonly name: string;
    readonly isOptional: boolean;
    readonly reflector: Running;
  }[];

  constructor(
    options: ApiServerSourceOptions,
    sinks: ClusterSinks,
    dependencies: ApiServerSourceDependencies,
  ) {
    const { clock, logger, env, observer } = dependencies;
    this.#options = options;
    this.#dependencies = dependencies;
    const credentials = new CredentialProvider(options, { clock, logger, env });
    this.#credentials = credentials;
    this.#client = new ApiClient(options, { credentials, clock, env, ...(observer && { observer }) });
    this.#events = new EventPoster(this.#client, `kube-proxy-${options.hostName}`, clock, logger);
    this.#reflectors = [
      this.#reflect(services, sinks.services),
      this.#reflect(endpointSlices, sinks.endpointSlices),
      this.#reflect(nodeNamed(options.nodeName), sinks.nodes),
      this.#reflect(serviceCIDRs, sinks.serviceCIDRs),
    ];
  }

  /** Loads the credentials once, so that wrong settings show before anything else is started. Rejects with CredentialsError. */
  async checkCredentials(): Promise<void> {
    await this.#credentials.current();
  }

  async start(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#reflectors.map(({ reflector }) => reflector.run(signal)));
    this.#events.close();
    this.#client.close();
  }

  /** The longest silence among the resources decides; a resource that the server may lack does not count while it is silent. */
  lastContact(): number | undefined {
    let oldest: number | undefined;
    for (const { isOptional, reflector } of this.#reflectors) {
      const contact = reflector.lastContact;
      if (contact === undefined && !isOptional) return undefined;
      if (contact !== undefined && !isOptional) oldest = Math.min(oldest ?? contact, contact);
    }
    return oldest;
  }

  /** Monotonic time of the last sign of life per resource (`services`, `endpointslices`, `nodes`, `servicecidrs`). */
  lastContacts(): ReadonlyMap<string, number | undefined> {
    return new Map(this.#reflectors.map(({ name, reflector }) => [name, reflector.lastContact]));
  }

  /** Writes an event to the API some time; never fails (operations 3.9). */
  postEvent(event: ApiEvent): void {
    this.#events.post(event);
  }

  #reflect<T extends KubeObject>(resource: ApiResource<T>, sink: ObjectSink<T>) {
    const { clock, logger, random = Math.random } = this.#dependencies;
    const listWatch = new ListWatch(resource, this.#client, clock);
    const options = { ...this.#options.reflector, accept: acceptOf(this.#options) };
    const reflector = new Reflector(options, { listWatch, sink, clock, logger, random });
    return { name: resource.name, isOptional: resource.isOptional, reflector };
  }
}

type Running = Pick<Reflector<KubeObject>, 'run' | 'lastContact'>;
