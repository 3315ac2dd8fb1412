import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/**
 * A program for tests: serves a port on some addresses, and connects to another address again and again until its
 * standard input ends; then it prints how often that went well, and how it failed.
 *
 *     node connect-loop.ts TO:PORT LISTEN:PORT...
 */
const [target, ...listeners] = process.argv.slice(2).map((text) => {
  const [host, port] = text.split(':') as [string, string];
  return { host, port: Number(port) };
});
const servers = listeners.map((listener) => createServer((socket) => socket.end('hello')).listen(listener));
await Promise.all(servers.map((server) => once(server, 'listening')));
process.stdout.write('ready\n');

let stopped = false;
process.stdin.on('end', () => {
  stopped = true;
});
process.stdin.resume();

const failures: string[] = [];
let connected = 0;
while (!stopped) {
  try {
    await tryOnce(target!);
    connected++;
  } catch (error) {
    failures.push(String(error));
  }
}
process.stdout.write(`${JSON.stringify({ connected, failures })}\n`);
for (const server of servers) server.close();

async function tryOnce(to: { readonly host: string; readonly port: number }): Promise<void> {
  const socket = connect(to);
  const timeout = setTimeout(() => socket.destroy(new Error('no answer')), 2000);
  try {
    let answer = '';
    for await (const chunk of socket.setEncoding('utf8')) answer += chunk;
    if (answer !== 'hello') throw new Error(`answered ${JSON.stringify(answer)}`);
  } finally {
    clearTimeout(timeout);
    socket.destroy();
  }
}
