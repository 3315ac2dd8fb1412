import { addData, type ExprCodec, readData } from './codec.ts';
import { registerNumber, registerSlot, type Slot } from './register.ts';

/** Compares a register with a constant; the rule ends here when it does not hold. */
export interface CmpExpr {
  readonly kind: 'cmp';
  readonly op: 'eq' | 'neq' | 'lt' | 'lte' | 'gt' | 'gte';
  readonly sreg: Slot;
  readonly data: Uint8Array;
}

const OPS = ['eq', 'neq', 'lt', 'lte', 'gt', 'gte'] as const;

const NFTA_CMP_SREG = 1;
const NFTA_CMP_OP = 2;
const NFTA_CMP_DATA = 3;

export const cmpCodec: ExprCodec<CmpExpr> = {
  name: 'cmp',
  encode(writer, expr) {
    writer.addU32be(NFTA_CMP_SREG, registerNumber(expr.sreg));
    writer.addU32be(NFTA_CMP_OP, OPS.indexOf(expr.op));
    addData(writer, NFTA_CMP_DATA, 'data', expr.data);
  },
  decode(reader) {
    let op: CmpExpr['op'] | undefined;
    let sreg = 0;
    let data: Uint8Array = Buffer.alloc(0);
    while (reader.next()) {
      if (reader.type === NFTA_CMP_SREG) sreg = registerSlot(reader.u32be());
      else if (reader.type === NFTA_CMP_OP) op = OPS[reader.u32be()];
      else if (reader.type === NFTA_CMP_DATA) data = readData(reader, 'data');
    }
    return op === undefined ? undefined : { kind: 'cmp', op, sreg, data };
  },
};
