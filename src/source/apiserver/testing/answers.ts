import type { ServerResponse } from 'node:http';
import {
  encodeList,
  encodeObject,
  encodeWatchEvent,
  type ListOptions,
} from '../../../../test/cluster/encoding/encode.ts';
import type { Answer } from './scripted-server.ts';

const protobuf = 'application/vnd.kubernetes.protobuf';

/** A Service as JSON, in a version. */
export function service(name: string, resourceVersion: number | string, port = 80): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'ns', resourceVersion: String(resourceVersion) },
    spec: { clusterIP: '10.96.0.1', ports: [{ port }] },
  };
}

/** A page of Services in protobuf. */
export function list(items: readonly object[], options: ListOptions): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': protobuf });
    response.end(encodeList('Service', items, options));
  };
}

/** A page of Services in JSON. */
export function jsonList(items: readonly object[], metadata: ListOptions): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ kind: 'ServiceList', apiVersion: 'v1', metadata, items }));
  };
}

/** An error answer with a Status in protobuf. */
export function refusal(
  httpStatus: number,
  reason: string,
  extra: { headers?: Record<string, string>; details?: object; message?: string } = {},
): Answer {
  return (response) => {
    response.writeHead(httpStatus, { 'content-type': protobuf, ...extra.headers });
    const { details, message = reason } = extra;
    response.end(
      encodeObject('Status', {
        status: 'Failure',
        reason,
        message,
        code: httpStatus,
        ...(details && { details }),
      }),
    );
  };
}

/** A watch stream in protobuf that the test goes on to write to. */
export class OpenWatch {
  readonly response: ServerResponse;

  constructor(response: ServerResponse) {
    this.response = response;
    response.writeHead(200, { 'content-type': `${protobuf};stream=watch` });
    response.flushHeaders();
  }

  send(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: object): this {
    this.response.write(encodeWatchEvent(type, 'Service', object));
    return this;
  }

  bookmark(resourceVersion: number, initialEventsEnd = false): this {
    const annotations = initialEventsEnd ? { 'k8s.io/initial-events-end': 'true' } : undefined;
    const metadata = { resourceVersion: String(resourceVersion), ...(annotations && { annotations }) };
    this.response.write(encodeWatchEvent('BOOKMARK', 'Service', { metadata }));
    return this;
  }

  error(code: number, reason: string): this {
    const status = { status: 'Failure', reason, message: reason, code };
    this.response.write(encodeWatchEvent('ERROR', 'Status', status));
    return this;
  }

  /** The orderly end. */
  end(): void {
    this.response.end();
  }

  /** Cuts the connection within a frame. */
  cut(): void {
    this.response.write(Buffer.from('0000', 'hex'), () => this.response.socket?.resetAndDestroy());
  }
}

/** Opens a watch and lets `then` write to it at once. */
export function watch(then: (watch: OpenWatch) => void = () => {}): Answer {
  return (response) => then(new OpenWatch(response));
}
