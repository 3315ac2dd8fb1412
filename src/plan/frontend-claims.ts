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
  const add = (kind: 'LoadBalancerIP' | 'ExternalIP', ip: string) => {
    if (taken.has(ip)) return;
    taken.add(ip);
    frontends.push({ kind, ip, port: port.port });
  };
  // Load-balancer addresses come first: source ranges apply to them, also where externalIPs name them again.
  for (const ip of port.loadBalancerVIPs) add('LoadBalancerIP', ip);
  if (allowExternalIPs) for (const ip of port.externalIPs) add('ExternalIP', ip);
  if (port.nodePort !== 0) frontends.push({ kind: 'NodePort', port: port.nodePort });
  return frontends;
}

interface Claim {
  readonly owner: string;
  readonly isClusterIP: boolean;
  readonly creationTimestamp: number;
}

/**
 * Which ServicePort gets a destination that several ask for. A ClusterIP always wins, so that nobody takes another
 * Service's address by naming it as external; then the older Service; then the lesser key. kube-proxy leaves it to
 * chance, anew with each sync (spec A19).
 */
export class FrontendClaims {
  readonly #winners = new Map<string, Claim>();
  /** All claims of the few destinations with more than one. */
  readonly #contested = new Map<string, readonly Claim[]>();

  /** Enters all claims of a ServicePort. Returns the other ServicePorts that win or lose a destination by it. */
  add(key: string, port: ServicePort, frontends: readonly Frontend[]): readonly string[] {
    const affected: string[] = [];
    for (const frontend of frontends) {
      const destination = frontendKey(frontend, port.protocol);
      const claim: Claim = {
        owner: key,
        isClusterIP: frontend.kind === 'ClusterIP',
        creationTimestamp: port.creationTimestamp,
      };
      const winner = this.#winners.get(destination);
      if (winner === undefined) {
        this.#winners.set(destination, claim);
        continue;
      }
      this.#contested.set(destination, [...(this.#contested.get(destination) ?? [winner]), claim]);
      if (precedes(claim, winner)) {
        this.#winners.set(destination, claim);
        affected.push(winner.owner);
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
        this.#winners.delete(destination);
        continue;
      }
      const rest = all.filter((claim) => claim.owner !== key);
      const winner = rest.reduce((best, claim) => (precedes(claim, best) ? claim : best));
      if (rest.length > 1) this.#contested.set(destination, rest);
      else this.#contested.delete(destination);
      if (this.#winners.get(destination)?.owner === key) affected.push(winner.owner);
      this.#winners.set(destination, winner);
    }
    return affected;
  }

  /** The ServicePort a destination belongs to. */
  owner(frontend: Frontend, protocol: string): string | undefined {
    return this.#winners.get(frontendKey(frontend, protocol))?.owner;
  }
}

function precedes(a: Claim, b: Claim): boolean {
  if (a.isClusterIP !== b.isClusterIP) return a.isClusterIP;
  if (a.creationTimestamp !== b.creationTimestamp) return a.creationTimestamp < b.creationTimestamp;
  return a.owner < b.owner;
}
