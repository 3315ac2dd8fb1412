import { encodeObject } from './encoding/encode.ts';
import { asField, splitEnvelope } from './envelope.ts';
import { type KubeObject, objectKey } from './kube-object.ts';
import type { Resource } from './resources.ts';

/**
 * One version of one object, with its encoded forms. They are made on first use and kept, so that a list of ten
 * thousand objects is a matter of joining buffers.
 */
export class StoredObject {
  readonly resource: Resource;
  readonly key: string;
  readonly resourceVersion: number;
  /** The JSON form without `kind` and `apiVersion`, as list items carry it. */
  readonly object: KubeObject;
  #jsonItem: Buffer | undefined;
  #jsonObject: Buffer | undefined;
  #protobufItem: Buffer | undefined;
  #protobufObject: Buffer | undefined;

  constructor(resource: Resource, object: KubeObject, resourceVersion: number) {
    const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
    this.resource = resource;
    this.key = objectKey(metadata.namespace, metadata.name);
    this.resourceVersion = resourceVersion;
    this.object = { metadata: { ...metadata, resourceVersion: String(resourceVersion) }, ...rest };
  }

  /** The same content under another version. */
  at(resourceVersion: number): StoredObject {
    return new StoredObject(this.resource, this.object, resourceVersion);
  }

  /** JSON of a list item. */
  jsonItem(): Buffer {
    this.#jsonItem ??= Buffer.from(JSON.stringify(this.object));
    return this.#jsonItem;
  }

  /** JSON of the object alone or inside a watch event: with `kind` and `apiVersion`. */
  jsonObject(): Buffer {
    const { kind, apiVersion } = this.resource;
    this.#jsonObject ??= Buffer.concat([
      Buffer.from(`{"kind":"${kind}","apiVersion":"${apiVersion}",`),
      this.jsonItem().subarray(1),
    ]);
    return this.#jsonObject;
  }

  /** Protobuf of a list item: field 2 of the list, with tag and length. */
  protobufItem(): Buffer {
    this.#protobufItem ??= asField(2, splitEnvelope(this.protobufObject()).raw);
    return this.#protobufItem;
  }

  /** Protobuf of the object alone: the `k8s\0` envelope. */
  protobufObject(): Buffer {
    this.#protobufObject ??= encodeObject(this.resource.kind, this.object);
    return this.#protobufObject;
  }
}
