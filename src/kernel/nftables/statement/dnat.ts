import { DATA_TYPES, formatValue, parseValue } from '../data-type.ts';
import type { ImmediateExpr } from '../expr/immediate.ts';
import type { NatExpr } from '../expr/nat.ts';
import { slotsFor } from '../expr/register.ts';
import { invalidValue } from '../nftables-error.ts';
import type { Family } from '../objects.ts';
import type { Selector } from '../selector/selector.ts';
import { selectorsText } from '../selector/selector-text.ts';
import { buildAddressMap, readAddressMap } from './anonymous-set.ts';
import type { StatementCodec } from './codec.ts';
import type { ExprCursor } from './expr-cursor.ts';
import { type NatFlag, natFlagBits, natFlags, natFlagsText } from './nat-flag.ts';
import { isAnonymousName } from './rule-builder.ts';
import type { AnonymousAddressMap, SetReference } from './set-reference.ts';

/**
 * Gives the connection another destination: a constant, or what a map holds for what `key` loads.
 * A rule whose map has no entry does not match. Ports need a preceding match of the transport protocol.
 */
export interface DnatStatement {
  readonly kind: 'dnat';
  readonly to:
    | { readonly address: string; readonly port?: number }
    | {
        readonly key: readonly Selector[];
        readonly map: SetReference | AnonymousAddressMap;
        /** Whether the map's data is `address . port` rather than an address alone. Default: true. */
        readonly port?: boolean;
      };
  readonly flags?: readonly NatFlag[];
}

/** Where nft puts the port of a constant destination: the next 16 byte register. */
const PORT_SLOT = 4;

const protocolFamily = (family: Family): number => (family === 'ip' ? 2 : 10);
const addressType = (family: Family) => (family === 'ip' ? 'ipv4_addr' : 'ipv6_addr');

export const dnatCodec: StatementCodec<DnatStatement> = {
  compile(builder, { to, flags }) {
    const nat = {
      kind: 'nat',
      type: 'dnat',
      family: protocolFamily(builder.family),
      address: 0,
      flags: natFlagBits(flags),
    } as const;
    const type = addressType(builder.family);
    if ('address' in to) {
      const bytes = parseValue(type, to.address);
      if (bytes === undefined) throw invalidValue('dnat', to.address, `an ${type}`);
      builder.emit({ kind: 'immediate', dreg: 0, data: bytes });
      if (to.port === undefined) builder.emit(nat);
      else {
        const port = parseValue('inet_service', to.port);
        if (port === undefined) throw invalidValue('dnat', to.port, 'a port');
        builder.emit({ kind: 'immediate', dreg: PORT_SLOT, data: port });
        builder.emit({ ...nat, port: PORT_SLOT });
      }
      return;
    }
    builder.load(to.key);
    const withPort = to.port !== false;
    if ('set' in to.map) builder.emit({ kind: 'lookup', set: to.map.set, sreg: 0, dreg: 0 });
    else {
      const { set, rows } = buildAddressMap(to.key, to.map, builder.family, withPort);
      builder.emit({ kind: 'lookup', ...builder.addAnonymous(set, rows), sreg: 0, dreg: 0 });
    }
    builder.emit(withPort ? { ...nat, port: slotsFor(DATA_TYPES[type].length) } : nat);
  },

  recognize(cursor) {
    const immediate = cursor.take('immediate');
    return immediate === undefined ? recognizeMap(cursor) : recognizeConstant(cursor, immediate);
  },

  text({ to, flags }, family) {
    const end = natFlagsText(flags);
    if ('address' in to) {
      const type = addressType(family);
      const bytes = parseValue(type, to.address);
      if (bytes === undefined) throw invalidValue('dnat', to.address, `an ${type}`);
      const address = formatValue(type, bytes);
      if (to.port === undefined) return `dnat to ${address}${end}`;
      return `dnat to ${family === 'ip6' ? `[${address}]` : address}:${to.port}${end}`;
    }
    const key = selectorsText(to.key);
    const withPort = to.port !== false;
    if ('set' in to.map) return `dnat ${family} to ${key} map @${to.map.set}${end}`;
    const { text } = buildAddressMap(to.key, to.map, family, withPort);
    return `dnat ${family}${withPort ? ' addr . port' : ''} to ${key} map ${text}${end}`;
  },
};

function recognizeConstant(cursor: ExprCursor, address: ImmediateExpr): DnatStatement | undefined {
  if ('verdict' in address) return undefined;
  const type = addressType(cursor.family);
  if (address.data.length !== DATA_TYPES[type].length) return undefined;
  const port = cursor.take('immediate');
  const nat = takeDnat(cursor, address.dreg);
  if (nat === undefined) return undefined;
  const text = formatValue(type, Buffer.from(address.data));
  if (port === undefined) {
    return nat.port === undefined ? { kind: 'dnat', to: { address: text }, ...flagsOf(nat) } : undefined;
  }
  if ('verdict' in port || port.data.length !== 2 || nat.port !== port.dreg) return undefined;
  const number = Buffer.from(port.data).readUInt16BE(0);
  return { kind: 'dnat', to: { address: text, port: number }, ...flagsOf(nat) };
}

function recognizeMap(cursor: ExprCursor): DnatStatement | undefined {
  const key = cursor.takeKey();
  const lookup = cursor.take('lookup');
  if (key === undefined || lookup?.sreg !== key.slot || typeof lookup.dreg !== 'number') return undefined;
  const nat = takeDnat(cursor, lookup.dreg);
  if (nat === undefined) return undefined;
  const portSlot = lookup.dreg + slotsFor(DATA_TYPES[addressType(cursor.family)].length);
  if (nat.port !== undefined && nat.port !== portSlot) return undefined;
  const port = nat.port === undefined ? { port: false } : {};
  if (!isAnonymousName(lookup.set)) {
    return { kind: 'dnat', to: { key: key.selectors, map: { set: lookup.set }, ...port }, ...flagsOf(nat) };
  }
  const found = cursor.resolve(lookup.set);
  const map = found && readAddressMap(found.set, found.rows);
  return map && { kind: 'dnat', to: { key: key.selectors, map, ...port }, ...flagsOf(nat) };
}

function takeDnat(cursor: ExprCursor, address: number): NatExpr | undefined {
  const nat = cursor.take('nat');
  const ours =
    nat?.type === 'dnat' && nat.family === protocolFamily(cursor.family) && nat.address === address;
  return ours ? nat : undefined;
}

function flagsOf(nat: NatExpr): { flags?: readonly NatFlag[] } {
  const flags = natFlags(nat.flags);
  return flags.length === 0 ? {} : { flags };
}
