import { hostU32, readHostU32 } from '../../netlink/byte-order.ts';
import { NFT_META_MARK } from '../selector/selector-expr.ts';
import type { StatementCodec } from './codec.ts';
/** Changes the packet's mark: `mark set mark or VALUE`, or with `set` replaces it. */
export interface MarkStatement {
  readonly kind: 'mark';
  readonly op: 'set' | 'or' | 'and' | 'xor';
  readonly value: number;
}

const ALL = 0xffff_ffff;

export const markCodec: StatementCodec<MarkStatement> = {
  compile(builder, { op, value }) {
    if (op === 'set') builder.emit({ kind: 'immediate', dreg: 0, data: hostU32(value) });
    else {
      builder.emit({ kind: 'meta', key: NFT_META_MARK, dreg: 0 });
      const mask = op === 'or' ? ~value >>> 0 : op === 'and' ? value : ALL;
      const xor = op === 'and' ? 0 : value;
      builder.emit({ kind: 'bitwise', sreg: 0, dreg: 0, mask: hostU32(mask), xor: hostU32(xor) });
    }
    builder.emit({ kind: 'meta', key: NFT_META_MARK, sreg: 0 });
  },

  recognize(cursor) {
    const immediate = cursor.take('immediate');
    if (immediate !== undefined) {
      const set = cursor.take('meta');
      if ('verdict' in immediate || immediate.data.length !== 4) return undefined;
      if (set?.key !== NFT_META_MARK || !('sreg' in set) || set.sreg !== immediate.dreg) return undefined;
      return { kind: 'mark', op: 'set', value: readHostU32(Buffer.from(immediate.data), 0) };
    }
    const load = cursor.take('meta');
    const bitwise = cursor.take('bitwise');
    const store = cursor.take('meta');
    if (load?.key !== NFT_META_MARK || !('dreg' in load)) return undefined;
    if (store?.key !== NFT_META_MARK || !('sreg' in store) || bitwise?.mask.length !== 4) return undefined;
    if (bitwise.sreg !== load.dreg || store.sreg !== bitwise.dreg) return undefined;
    const mask = readHostU32(Buffer.from(bitwise.mask), 0);
    const xor = readHostU32(Buffer.from(bitwise.xor), 0);
    if (xor === 0) return { kind: 'mark', op: 'and', value: mask };
    if (mask === ALL) return { kind: 'mark', op: 'xor', value: xor };
    return mask === ~xor >>> 0 ? { kind: 'mark', op: 'or', value: xor } : undefined;
  },

  text({ op, value }) {
    const number = `0x${value.toString(16).padStart(8, '0')}`;
    return op === 'set' ? `mark set ${number}` : `mark set mark ${op} ${number}`;
  },
};
