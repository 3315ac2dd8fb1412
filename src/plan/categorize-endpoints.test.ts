import { expect, test } from 'vitest';
import { sliceEndpoints } from '../model/endpoint.ts';
import { servicePortsOf } from '../model/service-port.ts';
import { endpoint, service } from '../model/testing/objects.ts';
import { categorizeEndpoints } from './categorize-endpoints.ts';

const C = {};
const ExL = { type: 'NodePort', externalTrafficPolicy: 'Local', ports: [{ nodePort: 30_080 }] };
const InL = { internalTrafficPolicy: 'Local' };
const InLnp = { ...InL, type: 'NodePort', ports: [{ nodePort: 30_080 }] };
const Both = { ...ExL, ...InL };

/**
 * Rows of spec A.3.4: node zone and name, endpoints, expected lists as last octets. An endpoint is written `3*` for a
 * local one, then its zone hints after `z:`, node hints after `n:`, and its state: R ready, U unready, T serving and
 * terminating.
 */
const rows: readonly [string, object, string, string, string, string, string, string, boolean][] = [
  ['T1', C, 'a', '', '3 z:a R, 4 z:b R, 5 z:c R, 6 z:a R', '3,6', '', '3,6', true],
  ['T2', ExL, 'a', '', '3* z:a R, 4* z:b R, 5 z:c R, 6 z:a R', '3,6', '3,4', '3,4,6', true],
  ['T3', InLnp, 'a', '', '3* z:a R, 4* z:b R, 5 z:c R, 6 z:a R', '3,6', '3,4', '3,4,6', true],
  ['T4', C, '', '', '3 z:a R', '3', '', '3', true],
  ['T6', C, 'b', '', '3 z:a R', '3', '', '3', true],
  ['T7', C, 'a', '', '3 z:a R, 4 z:b R, 5 z:c R, 6 z:a U', '3', '', '3', true],
  ['T8', C, 'a', '', '3 z:a U, 4 z:b R, 5 z:c R, 6 z:a U', '4,5', '', '4,5', true],
  ['T9', C, 'a', '', '3 z:a R, 4 z:b R, 5 R, 6 z:a R', '3,4,5,6', '', '3,4,5,6', true],
  ['T10', C, 'c', '', '3 z:a+b+c R, 4 z:b+c R, 5 z:b+d R, 6 z:c R', '3,4,6', '', '3,4,6', true],
  ['T12', C, 'a', '1', '3 z:a n:1 R, 4 z:b n:2 R, 5 z:c n:3 R, 6 z:a n:4 R', '3', '', '3', true],
  ['T13', C, 'a', '1', '3 z:a n:1 R, 4 R, 5 z:c n:3 R, 6 z:a n:4 R', '3,4,5,6', '', '3,4,5,6', true],
  ['T14', C, 'a', '0', '3 z:a n:1 R, 4 z:b n:2 R, 5 z:c n:3 R, 6 z:a n:4 R', '3,6', '', '3,6', true],
  ['T15', ExL, 'a', '', '0* z:a R, 1* z:b R, 2 z:a R, 3 z:b R', '0,2', '0,1', '0,1,2', true],
  ['T16', InL, '', '', '', '', '', '', false],
  ['T17', InL, '', '', '0 R, 1 R', '', '', '', true],
  ['T18', InL, '', '', '0* R, 1* R', '', '0,1', '0,1', true],
  ['T19', InL, '', '', '0* R, 1 R', '', '0', '0', true],
  ['T20', C, '', '', '0 U, 1 U', '', '', '', false],
  ['T21', C, '', '', '0 U, 1 R', '1', '', '1', true],
  ['T22', C, '', '', '0* T, 1 T', '0,1', '', '0,1', true],
  ['T23', InLnp, '', '', '0* R, 1 R', '0,1', '0', '0,1', true],
  ['T24', ExL, '', '', '0* R, 1 R', '0,1', '0', '0,1', true],
  ['T25', Both, '', '', '0* R, 1 R', '0,1', '0', '0,1', true],
  ['T26', Both, '', '', '0 R, 1 R', '0,1', '', '0,1', true],
  ['T27', Both, '', '', '0 T, 1 T', '0,1', '', '0,1', true],
  ['T28', ExL, '', '', '0 R, 1* U, 2* T, 3 T', '0', '2', '0,2', true],
  ['T29', { type: 'NodePort', externalTrafficPolicy: 'Local' }, '', '', '0 R, 1* R', '0,1', '', '0,1', true],
  ['T30', InL, '', '', '0 R, 1* R', '', '1', '1', true],
  ['terminating endpoints ignore hints', C, 'a', '', '0 z:a T, 1 z:b T', '0,1', '', '0,1', true],
];

test.each(rows)('%s', (_, fields, zone, nodeName, endpoints, cluster, local, all, hasAny) => {
  const port = [...servicePortsOf(service(fields), 'IPv4', () => {})!.values()][0]!;
  const parsed = endpoints === '' ? [] : endpoints.split(', ').map(parse);
  const input = sliceEndpoints(parsed, 8080, { family: 'IPv4', nodeName: 'here' });
  const result = categorizeEndpoints(input, port, { nodeName, zone });
  const octets = (list: readonly { ip: string }[]) => list.map((e) => e.ip.split('.')[3]).join(',');
  expect([
    octets(result.cluster),
    octets(result.local),
    octets(result.allReachable),
    result.hasAnyEndpoints,
  ]).toEqual([cluster, local, all, hasAny]);
});

function parse(text: string) {
  const [id, ...words] = text.split(' ');
  const state = words.at(-1);
  const hints = (prefix: string) =>
    words
      .find((word) => word.startsWith(prefix))
      ?.slice(2)
      .split('+') ?? [];
  return endpoint(`10.0.0.${id!.replace('*', '')}`, {
    nodeName: id!.endsWith('*') ? 'here' : 'there',
    ready: state === 'R',
    serving: state !== 'U',
    terminating: state === 'T',
    zoneHints: hints('z:'),
    nodeHints: hints('n:'),
  });
}
