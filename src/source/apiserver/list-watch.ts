import type { Clock } from '../../base/clock.ts';
import type { KubeObject } from '../../kube/kind-decoder.ts';
import type { ListMeta } from '../../kube/list-meta.ts';
import type { ListHandler, WatchHandler } from '../../kube/stream-decoder.ts';
import type { ApiClient } from './api-client.ts';
import { type ApiResource, resourcePath } from './api-resource.ts';
import { type Accept, listDecoderFor, watchAccept, watchDecoderFor } from './encoding.ts';

export type ListParameters = Readonly<Record<string, string | number | boolean>>;

/** The two requests that a reflector makes, for one resource. Both reject with ApiError, DecodeError or CredentialsError. */
export class ListWatch<T extends KubeObject> {
  readonly resource: ApiResource<T>;
  readonly #client: ApiClient;
  readonly #clock: Clock;
  /** Monotonic time of the last bytes from the server. */
  lastContact: number | undefined;

  constructor(resource: ApiResource<T>, client: ApiClient, clock: Clock) {
    this.resource = resource;
    this.#client = client;
    this.#clock = clock;
  }

  /** One page. Items are delivered as they arrive. */
  async list(
    accept: Accept,
    parameters: ListParameters,
    handler: ListHandler<T>,
    signal: AbortSignal,
  ): Promise<ListMeta> {
    const path = resourcePath(this.resource, parameters);
    const response = await this.#client.request({ method: 'GET', path, headers: { Accept: accept } }, signal);
    try {
      this.#contact();
      const decoder = listDecoderFor(
        response.contentType,
        this.resource.decoder,
        handler,
        this.resource.path,
      );
      await response.read((chunk) => {
        this.#contact();
        decoder.push(chunk);
      });
      return decoder.end();
    } finally {
      response.destroy();
    }
  }

  /**
   * A watch until its orderly end. `opened` is called when the server has granted it; `silenceMs` is asked again and
   * again how long nothing may arrive. What `handler` throws ends the watch and is passed on.
   */
  async watch(
    accept: Accept,
    parameters: ListParameters,
    handler: WatchHandler<T>,
    opened: () => void,
    silenceMs: () => number,
    signal: AbortSignal,
  ): Promise<void> {
    const path = resourcePath(this.resource, { ...parameters, watch: true, allowWatchBookmarks: true });
    const headers = { Accept: watchAccept(accept) };
    const response = await this.#client.request({ method: 'GET', path, headers }, signal);
    try {
      this.#contact();
      opened();
      const decoder = watchDecoderFor(
        response.contentType,
        this.resource.decoder,
        handler,
        this.resource.path,
      );
      await response.read((chunk) => {
        this.#contact();
        decoder.push(chunk);
      }, silenceMs);
      decoder.end();
    } finally {
      response.destroy();
    }
  }

  #contact(): void {
    this.lastContact = this.#clock.monotonic();
  }
}
