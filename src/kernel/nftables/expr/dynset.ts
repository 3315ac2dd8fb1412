import type { ExprCodec } from './codec.ts';
import { registerNumber, registerSlot, type Slot } from './register.ts';

/** Changes a set from the packet path. */
export interface DynsetExpr {
  readonly kind: 'dynset';
  readonly set: string;
  readonly op: 'add' | 'update' | 'delete';
  readonly keyReg: Slot;
  readonly dataReg?: Slot;
  readonly timeoutMs?: number;
}

const OPS = ['add', 'update', 'delete'] as const;

const NFTA_DYNSET_SET_NAME = 1;
const NFTA_DYNSET_OP = 3;
const NFTA_DYNSET_SREG_KEY = 4;
const NFTA_DYNSET_SREG_DATA = 5;
const NFTA_DYNSET_TIMEOUT = 6;
const NFTA_DYNSET_EXPR = 7;
const NFTA_DYNSET_FLAGS = 9;
const NFTA_DYNSET_EXPRESSIONS = 10;

export const dynsetCodec: ExprCodec<DynsetExpr> = {
  name: 'dynset',
  encode(writer, expr) {
    writer.addU32be(NFTA_DYNSET_SREG_KEY, registerNumber(expr.keyReg));
    if (expr.dataReg !== undefined) writer.addU32be(NFTA_DYNSET_SREG_DATA, registerNumber(expr.dataReg));
    writer.addU32be(NFTA_DYNSET_OP, OPS.indexOf(expr.op));
    if (expr.timeoutMs !== undefined) {
      if (!Number.isInteger(expr.timeoutMs) || expr.timeoutMs < 0) {
        writer.fail('milliseconds must be whole and not negative', 'timeout');
      } else {
        writer.addU64be(NFTA_DYNSET_TIMEOUT, BigInt(expr.timeoutMs));
      }
    }
    writer.addString(NFTA_DYNSET_SET_NAME, expr.set);
  },
  decode(reader) {
    let set = '';
    let op: DynsetExpr['op'] | undefined;
    let keyReg = 0;
    let dataReg: Slot | undefined;
    let timeoutMs = 0;
    while (reader.next()) {
      if (reader.type === NFTA_DYNSET_SET_NAME) set = reader.string();
      else if (reader.type === NFTA_DYNSET_OP) op = OPS[reader.u32be()];
      else if (reader.type === NFTA_DYNSET_SREG_KEY) keyReg = registerSlot(reader.u32be());
      else if (reader.type === NFTA_DYNSET_SREG_DATA) dataReg = registerSlot(reader.u32be());
      else if (reader.type === NFTA_DYNSET_TIMEOUT) timeoutMs = Number(reader.u64be());
      else if (reader.type === NFTA_DYNSET_EXPR || reader.type === NFTA_DYNSET_EXPRESSIONS) return undefined;
      else if (reader.type === NFTA_DYNSET_FLAGS && reader.u32be() !== 0) return undefined;
    }
    if (op === undefined) return undefined;
    return {
      kind: 'dynset',
      set,
      op,
      keyReg,
      ...(dataReg === undefined ? {} : { dataReg }),
      ...(timeoutMs === 0 ? {} : { timeoutMs }),
    };
  },
};
