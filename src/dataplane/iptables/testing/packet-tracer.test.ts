import { expect, test } from 'vitest';
import { type Packet, tracePacket } from './packet-tracer.ts';

const packet: Packet = { from: '10.0.0.2', to: '10.96.0.1', port: 80, protocol: 'tcp' };
const empty = ['KUBE-SERVICES', 'KUBE-EXTERNAL-SERVICES', 'KUBE-NODEPORTS', 'KUBE-PROXY-FIREWALL'];

function trace(chains: Readonly<Record<string, readonly string[]>>, of: Partial<Packet> = {}) {
  const rules = (table: string, chain: string) =>
    chains[`${table} ${chain}`] ?? (empty.includes(chain) ? [] : undefined);
  return tracePacket(rules, { ...packet, ...of }, new Set(['192.0.2.1']));
}

test.each([
  ['destination', '-d 10.96.0.1', '-d 10.96.0.2'],
  ['network', '-s 10.0.0.0/8', '-s 10.1.0.0/16'],
  ['negation', '! -s 10.1.0.0/16', '! -s 10.0.0.0/8'],
  ['protocol', '-p tcp', '-p udp'],
  ['port', '--dport 80', '--dport 81'],
  ['local address', '! --dst-type LOCAL', '--dst-type LOCAL'],
])('a rule matches by %s', (_, matching, other) => {
  const outcome = (match: string) =>
    trace({ 'nat KUBE-SERVICES': [`${match} -j DNAT --to-destination 10.0.0.9:80`] }).outcome;
  expect(outcome(matching)).toBe('10.0.0.9:80');
  expect(outcome(other)).toBe('(none)');
});

test('both ways of a rule with a probability are followed, memory and marks never match', () => {
  const result = trace({
    'nat KUBE-SERVICES': ['-j KUBE-SVC-A', '-j DNAT --to-destination 9.9.9.9:9'],
    'nat KUBE-SVC-A': [
      '-m comment --comment "to KUBE-MARK-MASQ" -m recent --name X --rcheck --seconds 9 -j KUBE-MARK-MASQ',
      '-m statistic --mode random --probability 0.5 -j KUBE-SEP-A',
      '-j KUBE-SEP-B',
    ],
    'nat KUBE-SEP-A': ['-s 10.0.0.2 -j KUBE-MARK-MASQ', '-j DNAT --to-destination 10.0.0.2:80'],
    'nat KUBE-SEP-B': ['-j DNAT --to-destination 10.0.0.3:80'],
  });
  expect(result).toEqual({ outcome: '10.0.0.2:80, 10.0.0.3:80', masqueraded: true });
});

test('the filter table sees the address after translation, and a rule without target decides nothing', () => {
  const result = trace({
    'nat KUBE-SERVICES': ['-j DNAT --to-destination [fd00::9]:80'],
    'filter KUBE-SERVICES': ['-d 10.96.0.1 -j REJECT', '-m comment --comment "counts"', '-d fd00::9 -j DROP'],
  });
  expect(result.outcome).toBe('[fd00::9]:80, DROP');
});

test('a jump to a chain that does not exist is an error', () => {
  expect(() => trace({ 'nat KUBE-SERVICES': ['-j KUBE-SVC-MISSING'] })).toThrow('KUBE-SVC-MISSING');
});
