import type { ExprCodec } from './codec.ts';
import { registerNumber, registerSlot, type Slot } from './register.ts';

/** Translates addresses and ports of a connection by what registers hold. */
export interface NatExpr {
  readonly kind: 'nat';
  readonly type: 'snat' | 'dnat';
  /** NFPROTO_IPV4 (2) or NFPROTO_IPV6 (10). */
  readonly family: number;
  readonly address?: Slot;
  readonly port?: Slot;
  /** NF_NAT_RANGE_* bits, linux/netfilter/nf_nat.h. */
  readonly flags: number;
}

const NFTA_NAT_TYPE = 1;
const NFTA_NAT_FAMILY = 2;
const NFTA_NAT_REG_ADDR_MIN = 3;
const NFTA_NAT_REG_ADDR_MAX = 4;
const NFTA_NAT_REG_PROTO_MIN = 5;
const NFTA_NAT_REG_PROTO_MAX = 6;
const NFTA_NAT_FLAGS = 7;

export const natCodec: ExprCodec<NatExpr> = {
  name: 'nat',
  encode(writer, expr) {
    writer.addU32be(NFTA_NAT_TYPE, expr.type === 'snat' ? 0 : 1);
    writer.addU32be(NFTA_NAT_FAMILY, expr.family);
    if (expr.address !== undefined) writer.addU32be(NFTA_NAT_REG_ADDR_MIN, registerNumber(expr.address));
    if (expr.port !== undefined) writer.addU32be(NFTA_NAT_REG_PROTO_MIN, registerNumber(expr.port));
    if (expr.flags !== 0) writer.addU32be(NFTA_NAT_FLAGS, expr.flags);
  },
  decode(reader) {
    let type: NatExpr['type'] = 'snat';
    let family = 0;
    let address: Slot | undefined;
    let addressMax: Slot | undefined;
    let port: Slot | undefined;
    let portMax: Slot | undefined;
    let flags = 0;
    while (reader.next()) {
      if (reader.type === NFTA_NAT_TYPE) type = reader.u32be() === 0 ? 'snat' : 'dnat';
      else if (reader.type === NFTA_NAT_FAMILY) family = reader.u32be();
      else if (reader.type === NFTA_NAT_REG_ADDR_MIN) address = registerSlot(reader.u32be());
      else if (reader.type === NFTA_NAT_REG_ADDR_MAX) addressMax = registerSlot(reader.u32be());
      else if (reader.type === NFTA_NAT_REG_PROTO_MIN) port = registerSlot(reader.u32be());
      else if (reader.type === NFTA_NAT_REG_PROTO_MAX) portMax = registerSlot(reader.u32be());
      else if (reader.type === NFTA_NAT_FLAGS) flags = reader.u32be();
    }
    // A range of addresses or ports.
    if ((addressMax ?? address) !== address || (portMax ?? port) !== port) return undefined;
    return {
      kind: 'nat',
      type,
      family,
      ...(address === undefined ? {} : { address }),
      ...(port === undefined ? {} : { port }),
      flags,
    };
  },
};
