/** Run as a program in a network namespace: `greeter.ts IP PORT`. Says hello to everyone and hangs up. */
import { createServer } from 'node:net';

const [ip, port] = process.argv.slice(2);
createServer((socket) => {
  socket.on('error', () => {});
  socket.end('hello\n');
}).listen({ host: ip!, port: Number(port), backlog: 511 }, () => {
  process.stdout.write('ready\n');
});
