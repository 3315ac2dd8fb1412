/**
 * Run as a program in a network namespace: `probe.ts IP PORT MILLISECONDS`. Connects again and again, and prints
 * how often it did and how often it failed.
 */
import { connect } from 'node:net';

const [ip, port, duration] = process.argv.slice(2);
let attempts = 0;
const failures: Record<string, number> = {};
const end = performance.now() + Number(duration);

function attempt(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: ip!, port: Number(port) });
    socket.setTimeout(1000, () => finish('timeout'));
    socket.once('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message));
    socket.once('data', () => finish(undefined));
    function finish(failure: string | undefined): void {
      socket.destroy();
      resolve(failure);
    }
  });
}

while (performance.now() < end) {
  attempts++;
  const failure = await attempt();
  if (failure !== undefined) failures[failure] = (failures[failure] ?? 0) + 1;
}
process.stdout.write(JSON.stringify({ attempts, failures }));
