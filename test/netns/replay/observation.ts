import type { RequestOutcome } from '../testbed/agent-protocol.ts';

/** What the requests of one probe showed, in the terms of the scenario files. */
export interface Observation {
  /** By server: how many answers, and how it saw the client: `preserved`, `node`, or the address as it is. */
  readonly servers: ReadonlyMap<string, { readonly answers: number; readonly sources: ReadonlySet<string> }>;
  /** How many requests failed in which way. */
  readonly failures: ReadonlyMap<string, number>;
  readonly http: readonly { readonly status: number; readonly body: unknown; readonly weight?: string }[];
}

/** Sums up outcomes. `nodeAddresses` are all addresses of the node under test. */
export function observe(
  outcomes: readonly RequestOutcome[],
  nodeAddresses: ReadonlySet<string>,
): Observation {
  const servers = new Map<string, { answers: number; sources: Set<string> }>();
  const failures = new Map<string, number>();
  const http: Observation['http'][number][] = [];
  for (const outcome of outcomes) {
    if ('failure' in outcome) failures.set(outcome.failure, (failures.get(outcome.failure) ?? 0) + 1);
    else if ('status' in outcome) http.push(outcome);
    else {
      const entry = servers.get(outcome.server) ?? { answers: 0, sources: new Set() };
      entry.answers += 1;
      entry.sources.add(sourceKind(addressOf(outcome.client), outcome.local, nodeAddresses));
      servers.set(outcome.server, entry);
    }
  }
  return { servers, failures, http };
}

function sourceKind(client: string, local: string, nodeAddresses: ReadonlySet<string>): string {
  if (client === local) return 'preserved';
  return nodeAddresses.has(client) ? 'node' : client;
}

function addressOf(hostPort: string): string {
  return hostPort.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
}

/** One line in the notation of the scenario files, with the number of requests behind each part. */
export function describeObservation({ servers, failures, http }: Observation): string {
  const parts: string[] = [];
  for (const [server, { answers, sources }] of [...servers].sort()) {
    parts.push(`${server} ×${answers} (source ${[...sources].sort().join(' and ')})`);
  }
  for (const [word, requests] of failures) parts.push(`${word} ×${requests}`);
  for (const answer of http) parts.push(JSON.stringify(answer));
  return parts.join(', ') || 'nothing';
}
