import { addData, type ExprCodec, readData } from './codec.ts';
import { registerNumber, registerSlot, type Slot } from './register.ts';

/** Compares a register with an inclusive range of big-endian values. */
export interface RangeExpr {
  readonly kind: 'range';
  readonly op: 'eq' | 'neq';
  readonly sreg: Slot;
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

const OPS = ['eq', 'neq'] as const;

const NFTA_RANGE_SREG = 1;
const NFTA_RANGE_OP = 2;
const NFTA_RANGE_FROM_DATA = 3;
const NFTA_RANGE_TO_DATA = 4;

export const rangeCodec: ExprCodec<RangeExpr> = {
  name: 'range',
  encode(writer, expr) {
    writer.addU32be(NFTA_RANGE_SREG, registerNumber(expr.sreg));
    writer.addU32be(NFTA_RANGE_OP, OPS.indexOf(expr.op));
    addData(writer, NFTA_RANGE_FROM_DATA, 'from', expr.from);
    addData(writer, NFTA_RANGE_TO_DATA, 'to', expr.to);
  },
  decode(reader) {
    let op: RangeExpr['op'] | undefined;
    let sreg = 0;
    let from: Uint8Array = Buffer.alloc(0);
    let to: Uint8Array = Buffer.alloc(0);
    while (reader.next()) {
      if (reader.type === NFTA_RANGE_SREG) sreg = registerSlot(reader.u32be());
      else if (reader.type === NFTA_RANGE_OP) op = OPS[reader.u32be()];
      else if (reader.type === NFTA_RANGE_FROM_DATA) from = readData(reader, 'from');
      else if (reader.type === NFTA_RANGE_TO_DATA) to = readData(reader, 'to');
    }
    return op === undefined ? undefined : { kind: 'range', op, sreg, from, to };
  },
};
