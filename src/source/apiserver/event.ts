/** An `events.k8s.io/v1` Event about a Node or a Service (operations 3.9). */
export interface ApiEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  readonly regarding: {
    readonly kind: 'Node' | 'Service';
    readonly name: string;
    /** `''` for a Node. */
    readonly namespace: string;
    readonly uid?: string;
  };
}

/** Where events of a Node go, which has no namespace itself. */
const nodeEventNamespace = 'default';

/** Namespace that the event is created in. */
export function eventNamespace(event: ApiEvent): string {
  return event.regarding.namespace || nodeEventNamespace;
}

/** The JSON object to create. `now` is milliseconds since the epoch. */
export function eventObject(event: ApiEvent, name: string, reportingInstance: string, now: number): object {
  const { kind, name: objectName, namespace, uid } = event.regarding;
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name, namespace: eventNamespace(event) },
    eventTime: microTime(now),
    reportingController: 'kube-proxy',
    reportingInstance,
    type: event.type,
    reason: event.reason,
    action: event.action,
    note: event.note,
    regarding: {
      apiVersion: 'v1',
      kind,
      name: objectName,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
    },
  };
}

/** Name of a new event: the object's name and the time in nanoseconds, in hexadecimal (client-go's form). */
export function eventName(event: ApiEvent, now: number): string {
  return `${event.regarding.name}.${(BigInt(Math.round(now * 1000)) * 1000n).toString(16)}`;
}

/** A `metav1.MicroTime`. */
export function microTime(now: number): string {
  return new Date(now).toISOString().replace('Z', '000Z');
}
