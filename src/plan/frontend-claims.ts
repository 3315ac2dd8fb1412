import type { ServicePort } from '../model/service-port.ts';
import type { Frontend } from './proxy-plan.ts';

/** Address, protocol and port of a frontend as one string; equal strings are the same destination. */
export function frontendKey(frontend: Frontend, protocol: string): string {
  return frontend.kind === 'NodePort'
    ? `${protocol}:${frontend.port}`
    : `${frontend.ip}:${protocol}:${frontend.port}`;
}

/** All frontends a ServicePort asks for, each destination once. */
export function claimedFrontends(port: ServicePort, allowExternalIPs: boolean): readonly Frontend[] {
  const frontends: Frontend[] = [{ kind: 'ClusterIP', ip: port.clusterIP, port: port.port }];
  const taken = new Set([port.clusterIP]);
  const externalIPs = allowExternalIPs ? port.externalIPs : [];
  for (const ip of port.loadBalancerVIPs) {
    if (taken.has(ip)) continue;
    taken.add(ip);
    frontends.push({ kind: 'LoadBalancerIP', ip, port: port.port, isExternalIP: externalIPs.includes(ip) });
  }
  for (const ip of externalIPs) {
    if (!taken.has(ip)) frontends.push({ kind: 'ExternalIP', ip, port: port.port });
  }
  if (port.nodePort !== 0) frontends.push({ kind: 'NodePort', port: port.nodePort });
  return frontends;
}

/** A ServicePort that asks for a destination. */
interface Claim {
  readonly key: string;
  readonly port: ServicePort;
  readonly isClusterIP: boolean;
  readonly isServed: boolean;
}

/** What claims are decided by. */
export interface ClaimView {
  /** The ServicePort whose claims were added under a key. */
  portOf(key: string): ServicePort | undefined;
  /** Whether it has an endpoint that can serve, anywhere. Claims are to be added anew when that changes. */
  isServed(port: ServicePort): boolean;
}

/**
 * Which ServicePort gets a destination that several ask for. A ClusterIP always wins, so that nobody takes another
 * Service's address by naming it as external; then one that has endpoints, as in kube-proxy, where the rules of the
 * others only refuse what is not translated; then the older Service; then the lesser key. Between two that have
 * endpoints kube-proxy leaves it to chance, anew with each sync (spec A19).
 */
export class FrontendClaims {
  /** Destination → key of the ServicePort that has it. */
  readonly #owners = new Map<string, string>();
  /** All claims of the few destinations with more than one. */
  readonly #contested = new Map<string, readonly Claim[]>();
  readonly #view: ClaimView;

  constructor(view: ClaimView) {
    this.#view = view;
  }

  /** Enters all claims of a ServicePort. Returns the other ServicePorts that lose a destination by it. */
  add(key: string, port: ServicePort, frontends: readonly Frontend[]): readonly string[] {
    const affected: string[] = [];
    for (const frontend of frontends) {
      const destination = frontendKey(frontend, port.protocol);
      const owner = this.#owners.get(destination);
      if (owner === undefined) {
        this.#owners.set(destination, key);
        continue;
      }
      const others = this.#contested.get(destination) ?? [
        this.#claimOf(owner, this.#view.portOf(owner)!, frontend),
      ];
      const claim = this.#claimOf(key, port, frontend);
      this.#contested.set(destination, [...others, claim]);
      if (others.every((other) => precedes(claim, other))) {
        this.#owners.set(destination, key);
        affected.push(owner);
      }
    }
    return affected;
  }

  /** Withdraws the claims of a ServicePort. Returns the ServicePorts that win a destination by it. */
  remove(key: string, port: ServicePort, frontends: readonly Frontend[]): readonly string[] {
    const affected: string[] = [];
    for (const frontend of frontends) {
      const destination = frontendKey(frontend, port.protocol);
      const all = this.#contested.get(destination);
      if (all === undefined) {
        this.#owners.delete(destination);
        continue;
      }
      const rest = all.filter((claim) => claim.key !== key);
      const winner = rest.reduce((best, claim) => (precedes(claim, best) ? claim : best));
      if (rest.length > 1) this.#contested.set(destination, rest);
      else this.#contested.delete(destination);
      if (this.#owners.get(destination) === key) affected.push(winner.key);
      this.#owners.set(destination, winner.key);
    }
    return affected;
  }

  /** The key of the ServicePort that a destination belongs to. */
  owner(frontend: Frontend, protocol: string): string | undefined {
    return this.#owners.get(frontendKey(frontend, protocol));
  }

  #claimOf(key: string, port: ServicePort, frontend: Frontend): Claim {
    const isClusterIP = frontend.kind !== 'NodePort' && port.clusterIP === frontend.ip;
    return { key, port, isClusterIP, isServed: this.#view.isServed(port) };
  }
}

function precedes(a: Claim, b: Claim): boolean {
  if (a.isClusterIP !== b.isClusterIP) return a.isClusterIP;
  if (a.isServed !== b.isServed) return a.isServed;
  if (a.port.creationTimestamp !== b.port.creationTimestamp)
    return a.port.creationTimestamp < b.port.creationTimestamp;
  return a.key < b.key;
}
