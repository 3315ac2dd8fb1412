import { parseCidr } from '../../../base/ip.ts';
import { DATA_TYPES, type DataType, formatValue, parseValue, readNumber } from '../data-type.ts';
import { invalidValue } from '../nftables-error.ts';

/** How a constant is compared: its bytes, and a mask when not all of the loaded bits count. */
export interface Constant {
  /** Bytes to compare; may be shorter than the field, then only so many bytes are loaded. */
  readonly data: Buffer;
  /** Bits that count; as long as the field. */
  readonly mask?: Buffer;
  /** The constant in nft syntax. */
  readonly text: string;
}

/** Reads a constant of a match. Throws NftablesError when it is no value of the type. */
export function parseConstant(type: DataType, value: string | number): Constant {
  const { length } = DATA_TYPES[type];
  const text = String(value);
  if ((type === 'ipv4_addr' || type === 'ipv6_addr') && text.includes('/')) return prefix(type, text);
  if (type === 'ifname' && text.endsWith('*')) {
    const start = Buffer.from(text.slice(0, -1));
    if (start.length === 0 || start.length > 15)
      throw invalidValue('match', value, 'an interface name prefix');
    return { data: start, text: `"${text}"` };
  }
  const data = parseValue(type, value);
  if (data === undefined) throw invalidValue('match', value, `a value of type ${type}`);
  return { data: data.length === length ? data : data.subarray(0, length), text: formatValue(type, data) };
}

function prefix(type: 'ipv4_addr' | 'ipv6_addr', text: string): Constant {
  const { length } = DATA_TYPES[type];
  const cidr = parseCidr(text);
  const data = cidr && parseValue(type, cidr.address);
  if (cidr === undefined || data === undefined) throw invalidValue('match', text, `an ${type} network`);
  const bits = cidr.prefixLength;
  if (bits === length * 8) return { data, text: cidr.address };
  const canonical = `${cidr.address}/${bits}`;
  // Whole bytes: nft loads just those. It writes a network that is everything as a mask of zeros.
  if (bits > 0 && bits % 8 === 0) return { data: data.subarray(0, bits / 8), text: canonical };
  const mask = Buffer.alloc(length);
  for (let bit = 0; bit < bits; bit++) mask[bit >> 3] = mask[bit >> 3]! | (0x80 >> (bit & 7));
  return { data, mask, text: canonical };
}

/** The reverse of {@link parseConstant}; `loaded` is how many bytes of the field were loaded. */
export function formatConstant(
  type: DataType,
  data: Buffer,
  loaded: number,
  mask?: Buffer,
): string | number | undefined {
  const { length, bitmask } = DATA_TYPES[type];
  if (type === 'ipv4_addr' || type === 'ipv6_addr') {
    const bits = mask === undefined ? loaded * 8 : prefixLength(mask);
    if (bits === undefined || data.length !== loaded || (mask !== undefined && loaded !== length))
      return undefined;
    const padded = Buffer.alloc(length);
    data.copy(padded);
    return bits === length * 8 ? formatValue(type, padded) : `${formatValue(type, padded)}/${bits}`;
  }
  if (mask !== undefined) return undefined;
  if (type === 'ifname') {
    if (data.length < length) return `${data.toString('utf8')}*`;
    const end = data.indexOf(0);
    return data.toString('utf8', 0, end < 0 ? length : end);
  }
  if (bitmask === true || data.length !== length || loaded !== length) return undefined;
  const text = formatValue(type, data);
  return /^[0-9]/.test(text) ? readNumber(DATA_TYPES[type], data, 0) : text;
}

/** Number of leading ones, or `undefined` when others follow. */
function prefixLength(mask: Buffer): number | undefined {
  let bits = 0;
  while (bits < mask.length * 8 && (mask[bits >> 3]! & (0x80 >> (bits & 7))) !== 0) bits++;
  for (let bit = bits; bit < mask.length * 8; bit++) {
    if ((mask[bit >> 3]! & (0x80 >> (bit & 7))) !== 0) return undefined;
  }
  return bits;
}
