import { type KubeObject, objectKey } from '../../../kube/kind-decoder.ts';
import type { ObjectSink } from '../../../kube/object-sink.ts';

/** A sink that notes its calls as `set ns/name@version`, `delete ns/name` and `synced`. */
export class RecordingSink<T extends KubeObject> implements ObjectSink<T> {
  calls: string[] = [];
  readonly objects = new Map<string, T>();

  set(object: T): void {
    this.calls.push(`set ${objectKey(object)}@${object.resourceVersion}`);
    this.objects.set(objectKey(object), object);
  }

  delete(namespace: string, name: string): void {
    this.calls.push(`delete ${objectKey({ namespace, name })}`);
    this.objects.delete(objectKey({ namespace, name }));
  }

  synced(): void {
    this.calls.push('synced');
  }

  /** The calls since the last time. */
  take(): string[] {
    const calls = this.calls;
    this.calls = [];
    return calls;
  }
}
