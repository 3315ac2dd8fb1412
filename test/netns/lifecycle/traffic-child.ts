// The client inside a namespace, fed by JSON lines: see TrafficClient.
import { serveLines } from '../testbed/serve-lines.ts';
import { type FlowSpec, Traffic } from './traffic.ts';

export type TrafficRequest =
  | { readonly op: 'start'; readonly flows: readonly FlowSpec[] }
  | { readonly op: 'answered' }
  | { readonly op: 'stop' };

let traffic: Traffic | undefined;

serveLines<TrafficRequest>(async (request) => {
  switch (request.op) {
    case 'start':
      traffic = new Traffic(request.flows);
      return null;
    case 'answered':
      return traffic?.answered ?? [];
    case 'stop':
      return (await traffic?.stop()) ?? [];
  }
});
