import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { systemErrorCode } from '../testbed/classify-failure.ts';
import { serveLines } from '../testbed/serve-lines.ts';

/** Run as a program in a namespace: one end of a download, told step by step how far to go. */
export type DownloadRequest =
  | { readonly op: 'listen'; readonly host: string; readonly port: number }
  | { readonly op: 'connect'; readonly host: string; readonly port: number }
  /** Sends so many bytes to the other end. */
  | { readonly op: 'send'; readonly bytes: number }
  | { readonly op: 'end' }
  | { readonly op: 'state' };

export interface DownloadState {
  readonly connected: boolean;
  readonly received: number;
  /** The other end has said that this is all. */
  readonly complete: boolean;
  /** Code of the error that ended the connection. */
  readonly error: string | undefined;
}

let socket: Socket | undefined;
let received = 0;
let complete = false;
let error: string | undefined;

function take(taken: Socket): void {
  socket = taken;
  taken.setNoDelay(true);
  taken.on('data', (data) => {
    received += data.length;
  });
  taken.on('end', () => {
    complete = true;
  });
  taken.on('error', (reason) => {
    error = systemErrorCode(reason) ?? String(reason);
  });
}

serveLines<DownloadRequest>(async (request) => {
  switch (request.op) {
    case 'listen':
      await once(createServer(take).listen(request.port, request.host), 'listening');
      return true;
    case 'connect':
      take(connect({ host: request.host, port: request.port }));
      await once(socket!, 'connect');
      return true;
    case 'send':
      socket?.write(Buffer.alloc(request.bytes, 'x'));
      return true;
    case 'end':
      socket?.end();
      return true;
    case 'state':
      return { connected: socket !== undefined, received, complete, error } satisfies DownloadState;
  }
});
