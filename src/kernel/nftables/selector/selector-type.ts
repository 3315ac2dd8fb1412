import type { DataType } from '../data-type.ts';
import type { Selector } from './selector.ts';

/** The data type of what a selector loads. */
export function selectorType(selector: Selector): DataType {
  switch (selector.kind) {
    case 'payload':
      if (selector.field === 'sport' || selector.field === 'dport') return 'inet_service';
      if (selector.field === 'protocol' || selector.field === 'nexthdr') return 'inet_proto';
      return selector.header === 'ip' ? 'ipv4_addr' : 'ipv6_addr';
    case 'meta':
      return META_TYPES[selector.key];
    case 'ct':
      return CT_TYPES[selector.key];
    case 'fib':
      return 'fib_addrtype';
    case 'numgen':
      return 'integer';
  }
}

const META_TYPES = {
  l4proto: 'inet_proto',
  nfproto: 'nf_proto',
  mark: 'mark',
  iifname: 'ifname',
  oifname: 'ifname',
} as const;

const CT_TYPES = { state: 'ct_state', status: 'ct_status', mark: 'mark', direction: 'ct_dir' } as const;
