// The process a test bed runs inside each of its namespaces: servers, prober, and what has to be done from within.
import { readFileSync, writeFileSync } from 'node:fs';
import type { AgentRequest } from './agent-protocol.ts';
import { flushConntrack } from './flush-conntrack.ts';
import { IdentityServers } from './identity-servers.ts';
import { Prober } from './prober.ts';
import { serveLines } from './serve-lines.ts';

const prober = new Prober();
const servers = new IdentityServers();

async function perform(request: AgentRequest): Promise<unknown> {
  switch (request.op) {
    case 'sysctl':
      return writeSysctls(request.values);
    case 'listen':
      return servers.listen(request.addresses, request.ports, request.name);
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

serveLines(perform);
