import { durationText } from '../duration.ts';
import type { Selector } from '../selector/selector.ts';
import { selectorsText } from '../selector/selector-text.ts';
import type { StatementCodec } from './codec.ts';

/**
 * Adds an element to a set with the flag `dynamic`: `add` keeps the life time of one that is there, `update` restarts
 * it. When the set is full the rule stops matching here. With `data` the set is a map.
 */
export interface UpdateStatement {
  readonly kind: 'update';
  readonly op: 'add' | 'update' | 'delete';
  readonly set: string;
  readonly key: readonly Selector[];
  readonly data?: readonly Selector[];
  /** Life time of the element; default: that of the set. */
  readonly timeoutMs?: number;
}

export const updateCodec: StatementCodec<UpdateStatement> = {
  compile(builder, { op, set, key, data, timeoutMs }) {
    const free = builder.load(key);
    // Data starts on a 16 byte register of its own, as nft lays it out.
    const dataReg = (free + 3) & ~3;
    if (data !== undefined) builder.load(data, dataReg);
    builder.emit({
      kind: 'dynset',
      set,
      op,
      keyReg: 0,
      ...(data === undefined ? {} : { dataReg }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
  },

  recognize(cursor) {
    const key = cursor.takeKey();
    if (key === undefined) return undefined;
    const data = cursor.takeKey();
    const dynset = cursor.take('dynset');
    if (dynset === undefined || dynset.keyReg !== key.slot || dynset.dataReg !== data?.slot) return undefined;
    return {
      kind: 'update',
      op: dynset.op,
      set: dynset.set,
      key: key.selectors,
      ...(data === undefined ? {} : { data: data.selectors }),
      ...(dynset.timeoutMs === undefined ? {} : { timeoutMs: dynset.timeoutMs }),
    };
  },

  text({ op, set, key, data, timeoutMs }) {
    const timeout = timeoutMs === undefined ? '' : ` timeout ${durationText(timeoutMs)}`;
    const value = data === undefined ? '' : ` : ${selectorsText(data)}`;
    return `${op} @${set} { ${selectorsText(key)}${timeout}${value} }`;
  },
};
