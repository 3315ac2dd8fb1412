import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { patient } from '../patience.ts';
import type { ObjectFeed } from './object-feed.ts';
import type { KubeObject, ObjectReference } from './scenario.ts';
import { delay } from './settle.ts';

/** A reader may wait a moment whether a file that is gone comes back; later changes must not overtake the removal. */
const REMOVAL_MILLISECONDS = patient(100);

/** A directory with one YAML file for each object. Files appear complete: they are written elsewhere and moved in. */
export class FileFeed implements ObjectFeed {
  readonly location: { readonly manifests: string };
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
    this.location = { manifests: join(root, 'manifests') };
  }

  static async create(): Promise<FileFeed> {
    const feed = new FileFeed(await mkdtemp(join(tmpdir(), 'fairlead-objects-')));
    await mkdir(feed.location.manifests);
    return feed;
  }

  async put(object: KubeObject): Promise<void> {
    const staged = join(this.#root, 'staged.yaml');
    await writeFile(staged, stringify(object));
    await rename(staged, this.#path({ kind: object.kind, ...object.metadata }));
  }

  async remove(reference: ObjectReference): Promise<void> {
    await rm(this.#path(reference));
    await delay(REMOVAL_MILLISECONDS);
  }

  async close(): Promise<void> {
    await rm(this.#root, { recursive: true, force: true });
  }

  #path({ kind, namespace, name }: ObjectReference): string {
    return join(this.location.manifests, `${kind.toLowerCase()}.${namespace ?? ''}.${name}.yaml`);
  }
}
