import type { PlanSettings } from '../plan-settings.ts';

/** Settings of an IPv4 node named node1 with pod CIDR 10.0.0.0/8 as its local traffic, unless told otherwise. */
export function settings(fields: Partial<PlanSettings> = {}): PlanSettings {
  return {
    family: 'IPv4',
    nodeName: 'node1',
    zone: '',
    nodeIP: '192.168.0.2',
    localTraffic: { kind: 'cidr', cidr: '10.0.0.0/8' },
    masqueradeAll: false,
    masqueradeMark: 0x4000,
    nodePortAddresses: 'all',
    localhostNodePorts: false,
    serviceCIDRs: ['172.30.0.0/16'],
    allowExternalIPs: true,
    ...fields,
  };
}
