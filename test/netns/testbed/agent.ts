// The process a test bed runs inside each of its namespaces. It reads AgentRequests from standard input, one JSON
// object a line, answers on standard output, and ends with its input: nothing stays when the test dies.
import { readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { AgentRequest, AgentResponse } from './agent-protocol.ts';
import { flushConntrack } from './flush-conntrack.ts';
import { IdentityServers } from './identity-servers.ts';
import { Prober } from './prober.ts';

const prober = new Prober();
const servers = new IdentityServers();

async function perform(request: AgentRequest): Promise<unknown> {
  switch (request.op) {
    case 'sysctl':
      return writeSysctls(request.values);
    case 'listen':
      return servers.listen(request.addresses, request.ports);
    case 'probe':
      return prober.probe(request.probe);
    case 'reset':
      prober.reset();
      return servers.reset();
    case 'flushConntrack':
      return flushConntrack();
    case 'readFile':
      return readIfPresent(request.path);
  }
}

function writeSysctls(values: Readonly<Record<string, string | number>>): void {
  for (const [name, value] of Object.entries(values)) {
    const path = `/proc/sys/${name.replaceAll('.', '/')}`;
    try {
      writeFileSync(path, `${value}\n`);
    } catch (error) {
      // Kernels without the bridge filter have no such switches, and nothing to switch off.
      if (!name.startsWith('net.bridge.') || readIfPresent(path) !== null) throw error;
    }
  }
}

function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function respond(response: AgentResponse): void {
  process.stdout.write(`${JSON.stringify(response)}\n`);
}

const lines = createInterface({ input: process.stdin, terminal: false });
lines.on('line', (line) => {
  const { id, ...request } = JSON.parse(line) as AgentRequest & { id: number };
  perform(request as AgentRequest).then(
    (result) => respond({ id, result }),
    (error: unknown) => respond({ id, error: error instanceof Error ? error.message : String(error) }),
  );
});
lines.on('close', () => process.exit(0));
