import { formatIp, parseIpBytes } from '../../base/ip.ts';
import { hostIsLittleEndian } from '../netlink/byte-order.ts';

/** nft's names of the data types that fields of keys and data have. */
export type DataType =
  | 'ipv4_addr'
  | 'ipv6_addr'
  | 'inet_proto'
  | 'inet_service'
  | 'integer'
  | 'mark'
  | 'ifname'
  | 'nf_proto'
  | 'ct_state'
  | 'ct_status'
  | 'ct_dir'
  | 'fib_addrtype';

/** How a data type is stored in registers and printed. */
export interface DataTypeInfo {
  /** nft's number of the type; the kernel only keeps it. */
  readonly id: number;
  /** Bytes, without the padding to 4. */
  readonly length: number;
  readonly order: 'big' | 'host';
  /** For numbers: the words nft prints for values; bit masks name their bits. */
  readonly words?: ReadonlyMap<string, number>;
  readonly bitmask?: boolean;
  readonly hex?: boolean;
}

const words = (entries: Record<string, number>): ReadonlyMap<string, number> =>
  new Map(Object.entries(entries));

// Type numbers: nft's datatype.h; ct_* bits: nf_conntrack_common.h; fib types: rtnetlink.h.
export const DATA_TYPES: Readonly<Record<DataType, DataTypeInfo>> = {
  ipv4_addr: { id: 7, length: 4, order: 'big' },
  ipv6_addr: { id: 8, length: 16, order: 'big' },
  inet_proto: {
    id: 12,
    length: 1,
    order: 'big',
    words: words({ icmp: 1, tcp: 6, udp: 17, 'ipv6-icmp': 58, sctp: 132, udplite: 136 }),
  },
  inet_service: { id: 13, length: 2, order: 'big' },
  integer: { id: 4, length: 4, order: 'host' },
  mark: { id: 19, length: 4, order: 'host', hex: true },
  ifname: { id: 41, length: 16, order: 'host' },
  nf_proto: { id: 2, length: 1, order: 'host', words: words({ ipv4: 2, ipv6: 10 }) },
  ct_state: {
    id: 26,
    length: 4,
    order: 'host',
    bitmask: true,
    words: words({ invalid: 1, established: 2, related: 4, new: 8, untracked: 64 }),
  },
  ct_status: {
    id: 28,
    length: 4,
    order: 'host',
    bitmask: true,
    words: words({
      expected: 1,
      'seen-reply': 2,
      assured: 4,
      confirmed: 8,
      snat: 16,
      dnat: 32,
      dying: 512,
    }),
  },
  ct_dir: { id: 27, length: 1, order: 'host', words: words({ original: 0, reply: 1 }) },
  fib_addrtype: {
    id: 38,
    length: 4,
    order: 'host',
    words: words({
      unspec: 0,
      unicast: 1,
      local: 2,
      broadcast: 3,
      anycast: 4,
      multicast: 5,
      blackhole: 6,
      unreachable: 7,
      prohibit: 8,
    }),
  },
};

const NAMES = new Map(Object.entries(DATA_TYPES).map(([name, info]) => [info.id, name as DataType]));

/** Name of a data type by nft's number. */
export const dataTypeById = (id: number): DataType | undefined => NAMES.get(id);

/** Bytes a field takes in a concatenation: its length rounded up to whole 32 bit registers. */
export const paddedLength = (type: DataType): number => (DATA_TYPES[type].length + 3) & ~3;

/** Writes a number as the type stores it. */
function writeNumber(info: DataTypeInfo, value: number, into: Buffer, at: number): void {
  if (info.order === 'big' || !hostIsLittleEndian) into.writeUIntBE(value, at, info.length);
  else into.writeUIntLE(value, at, info.length);
}

/** Reads a number as the type stores it. */
export function readNumber(info: DataTypeInfo, from: Buffer, at: number): number {
  return info.order === 'big' || !hostIsLittleEndian
    ? from.readUIntBE(at, info.length)
    : from.readUIntLE(at, info.length);
}

/** Bytes of one value, `length` of them, or `undefined` when it is no value of this type. */
export function parseValue(type: DataType, value: string | number): Buffer | undefined {
  const info = DATA_TYPES[type];
  const bytes = Buffer.alloc(info.length);
  if (type === 'ipv4_addr' || type === 'ipv6_addr') {
    const ip = typeof value === 'string' ? parseIpBytes(value) : undefined;
    return ip?.length === info.length ? Buffer.from(ip) : undefined;
  }
  if (type === 'ifname') {
    // IFNAMSIZ counts the terminating zero.
    if (typeof value !== 'string' || value === '' || Buffer.byteLength(value) > 15) return undefined;
    bytes.write(value);
    return bytes;
  }
  const number = typeof value === 'number' ? value : parseWords(info, value);
  if (number === undefined || !Number.isInteger(number) || number < 0 || number >= 2 ** (8 * info.length)) {
    return undefined;
  }
  writeNumber(info, number, bytes, 0);
  return bytes;
}

/** Text of one value as nft prints it; `at` is where its bytes start. */
export function formatValue(type: DataType, bytes: Buffer, at = 0): string {
  const info = DATA_TYPES[type];
  switch (type) {
    case 'ipv4_addr':
      return `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`;
    case 'ipv6_addr':
      return formatIp(bytes.subarray(at, at + 16));
    case 'ifname': {
      const end = bytes.indexOf(0, at);
      return `"${bytes.toString('utf8', at, end < 0 ? at + info.length : Math.min(end, at + info.length))}"`;
    }
    default:
      return formatNumber(info, readNumber(info, bytes, at));
  }
}

function parseWords(info: DataTypeInfo, text: string): number | undefined {
  if (info.bitmask === true) {
    let bits = 0;
    for (const word of text.split(',')) {
      const bit = info.words?.get(word);
      if (bit === undefined) return undefined;
      bits |= bit;
    }
    return bits;
  }
  const known = info.words?.get(text);
  if (known !== undefined) return known;
  return /^(0x[0-9a-fA-F]+|[0-9]+)$/.test(text) ? Number(text) : undefined;
}

function formatNumber(info: DataTypeInfo, value: number): string {
  if (info.bitmask === true) {
    const names: string[] = [];
    let rest = value;
    for (const [word, bit] of info.words ?? []) {
      if ((value & bit) === 0) continue;
      names.push(word);
      rest &= ~bit;
    }
    return rest === 0 && names.length > 0 ? names.join(',') : `0x${value.toString(16)}`;
  }
  for (const [word, number] of info.words ?? []) if (number === value) return word;
  return info.hex === true ? `0x${value.toString(16).padStart(8, '0')}` : String(value);
}
