import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kubeconfig } from '../../cluster/kubeconfig.ts';
import { LineProcess } from '../testbed/line-process.ts';
import type { ApiServerRequest } from './api-server-child.ts';
import type { ObjectFeed } from './object-feed.ts';
import type { KubeObject, ObjectReference } from './scenario.ts';

/** The stand-in API server on the loopback address of the node under test: the proxy lists and watches as in a cluster. */
export class ApiServerFeed implements ObjectFeed {
  readonly location: { readonly kubeconfig: string };
  readonly #directory: string;
  readonly #process: LineProcess;

  private constructor(directory: string, started: LineProcess) {
    this.#directory = directory;
    this.#process = started;
    this.location = { kubeconfig: join(directory, 'kubeconfig') };
  }

  /** `namespace` is the full name of the namespace of the node. */
  static async create(namespace: string): Promise<ApiServerFeed> {
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-apiserver-'));
    const child = LineProcess.start(namespace, new URL('./api-server-child.ts', import.meta.url));
    const feed = new ApiServerFeed(directory, child);
    try {
      const server = (await feed.#send({ op: 'listen' })) as string;
      await writeFile(feed.location.kubeconfig, kubeconfig({ server }));
    } catch (error) {
      await feed.close();
      throw error;
    }
    return feed;
  }

  async put(object: KubeObject): Promise<void> {
    await this.#send({ op: 'put', object });
  }

  async remove(reference: ObjectReference): Promise<void> {
    await this.#send({ op: 'remove', reference });
  }

  async close(): Promise<void> {
    await this.#process.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }

  #send(request: ApiServerRequest): Promise<unknown> {
    return this.#process.request(request);
  }
}
