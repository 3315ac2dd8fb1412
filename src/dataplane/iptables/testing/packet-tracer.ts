import { cidrContains, parseCidr } from '../../../base/ip.ts';

/** A packet as the vectors describe it. */
export interface Packet {
  readonly from: string;
  readonly to: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'udp' | 'sctp';
}

export interface TraceResult {
  /** `ip:port` of every endpoint that may be chosen, then verdicts of the filter table; `(none)` where nothing matched. */
  readonly outcome: string;
  readonly masqueraded: boolean;
}

/** The rules of a table by chain, each as the text behind `-A CHAIN `. */
export type ChainLookup = (table: 'filter' | 'nat', chain: string) => readonly string[] | undefined;

/**
 * Follows the first packet of a connection through our chains (model of spec B.5.1): nat first; a rule with a
 * probability may or may not match, so both ways are followed; then all filter chains. Session memory, marks and
 * conntrack states never match.
 */
export function tracePacket(
  rules: ChainLookup,
  packet: Packet,
  localAddresses: ReadonlySet<string>,
): TraceResult {
  const trace = new Trace(rules, packet, localAddresses);
  trace.run('nat', 'KUBE-SERVICES');
  const { masqueraded } = trace;
  const endpoint = trace.outcomes[0];
  if (endpoint !== undefined) trace.rewriteDestination(endpoint);
  for (const chain of ['KUBE-SERVICES', 'KUBE-EXTERNAL-SERVICES', 'KUBE-NODEPORTS', 'KUBE-PROXY-FIREWALL'])
    trace.run('filter', chain);
  return { outcome: trace.outcomes.length === 0 ? '(none)' : trace.outcomes.join(', '), masqueraded };
}

class Trace {
  readonly outcomes: string[] = [];
  masqueraded = false;
  readonly #rules: ChainLookup;
  readonly #localAddresses: ReadonlySet<string>;
  readonly #packet: Packet;
  #destination: string;

  constructor(rules: ChainLookup, packet: Packet, localAddresses: ReadonlySet<string>) {
    this.#rules = rules;
    this.#packet = packet;
    this.#localAddresses = localAddresses;
    this.#destination = packet.to;
  }

  rewriteDestination(endpoint: string): void {
    this.#destination = endpoint.slice(0, endpoint.lastIndexOf(':')).replace(/^\[|\]$/g, '');
  }

  /** Returns whether the packet's fate in this table is certain. */
  run(table: 'filter' | 'nat', chain: string): boolean {
    const rules = this.#rules(table, chain);
    if (rules === undefined) throw new Error(`there is no chain ${chain} in table ${table}`);
    for (const text of rules) {
      const rule = readRule(text);
      if (!this.#matches(rule.matches) || rule.target === undefined) continue;
      const ended = this.#jump(table, rule);
      if (ended && !rule.mayPass) return true;
    }
    return false;
  }

  #jump(table: 'filter' | 'nat', rule: TracedRule): boolean {
    switch (rule.target) {
      case 'KUBE-MARK-MASQ':
        this.masqueraded = true;
        return false;
      case 'DNAT':
        this.outcomes.push(rule.destination!);
        return true;
      case 'ACCEPT':
      case 'DROP':
      case 'REJECT':
        this.outcomes.push(rule.target);
        return true;
      default:
        return this.run(table, rule.target!);
    }
  }

  #matches(matches: readonly RuleMatch[]): boolean {
    return matches.every((match) => this.#holds(match) !== match.negated);
  }

  #holds({ option, value }: RuleMatch): boolean {
    switch (option) {
      case '-s':
        return covers(value, this.#packet.from);
      case '-d':
        return covers(value, this.#destination);
      case '-p':
        return value === this.#packet.protocol;
      case '--dport':
        return Number(value) === this.#packet.port;
      case '--dst-type':
        return this.#localAddresses.has(this.#destination);
      case '--src-type':
        return this.#localAddresses.has(this.#packet.from);
      default:
        throw new Error(`the tracer does not know ${option}`);
    }
  }
}

interface RuleMatch {
  readonly option: string;
  readonly value: string;
  readonly negated: boolean;
}

interface TracedRule {
  readonly matches: readonly RuleMatch[];
  readonly mayPass: boolean;
  readonly target: string | undefined;
  readonly destination: string | undefined;
}

const known = new Set(['-s', '-d', '-p', '--dport', '--dst-type', '--src-type']);
const never = { option: '-p', value: 'nothing', negated: false };
const neverMatching = new Set(['--rcheck', '--mark', '--ctstate']);

function readRule(text: string): TracedRule {
  const words = text.match(/"[^"]*"|\S+/g) ?? [];
  const matches: RuleMatch[] = [];
  let negated = false;
  let mayPass = false;
  let target: string | undefined;
  let destination: string | undefined;
  for (const [index, word] of words.entries()) {
    const value = words[index + 1] ?? '';
    if (word === '!') {
      negated = true;
      continue;
    }
    if (known.has(word)) matches.push({ option: word, value, negated });
    else if (neverMatching.has(word)) matches.push(never);
    else if (word === '--probability') mayPass = true;
    else if (word === '-j') target = value;
    else if (word === '--to-destination') destination = value;
    negated = false;
  }
  return { matches, mayPass, target, destination };
}

function covers(text: string, ip: string): boolean {
  const cidr = parseCidr(text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`);
  if (cidr === undefined) throw new Error(`not an address: ${text}`);
  return cidrContains(cidr, ip);
}
