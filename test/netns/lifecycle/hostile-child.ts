// A client inside a namespace that means harm, fed by JSON lines: see HostileClient.
import { connect, type Socket } from 'node:net';
import { serveLines } from '../testbed/serve-lines.ts';

export interface Attack {
  readonly host: string;
  readonly port: number;
  /** Connections held open at any time; what the server closes is opened anew. */
  readonly connections: number;
  /** What is sent, again and again; '' for silence. */
  readonly payload: string;
  /** Milliseconds between two sendings on one connection; 0 sends as fast as the server takes it. */
  readonly everyMilliseconds: number;
  /** Sent once before the payload. */
  readonly opening: string;
  /** Whether answers are read. */
  readonly reads: boolean;
}

export type HostileRequest =
  | { readonly op: 'attack'; readonly attacks: readonly Attack[] }
  /** Answers with what has happened so far. */
  | { readonly op: 'report' };

export interface HostileReport {
  readonly opened: number;
  readonly open: number;
  readonly bytesSent: number;
}

const report = { opened: 0, open: 0, bytesSent: 0 };

function send(socket: Socket, attack: Attack): void {
  if (socket.destroyed || attack.payload === '') return;
  const goesOn = socket.write(attack.payload);
  report.bytesSent += attack.payload.length;
  if (attack.everyMilliseconds > 0) setTimeout(() => send(socket, attack), attack.everyMilliseconds);
  else if (goesOn) setImmediate(() => send(socket, attack));
  else socket.once('drain', () => send(socket, attack));
}

function open(attack: Attack): void {
  const socket = connect({ host: attack.host, port: attack.port });
  if (attack.reads) socket.resume();
  else socket.pause();
  socket.on('connect', () => {
    report.opened++;
    report.open++;
    socket.write(attack.opening);
    send(socket, attack);
    socket.once('close', () => report.open--);
  });
  socket.on('error', () => {});
  socket.once('close', () => setTimeout(() => open(attack), 10));
}

serveLines<HostileRequest>(async (request) => {
  if (request.op === 'attack')
    for (const attack of request.attacks) for (let i = 0; i < attack.connections; i++) open(attack);
  return report;
});
