import { durationText } from '../duration.ts';
import { slotsFor } from '../expr/register.ts';
import type { Selector } from '../selector/selector.ts';
import type { Load } from '../selector/selector-expr.ts';
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
    // Key and data may sit in adjacent registers, so that they look like one concatenation.
    const loads = [...(cursor.takeKey()?.loads ?? []), ...(cursor.takeKey()?.loads ?? [])];
    const dynset = cursor.take('dynset');
    if (dynset === undefined) return undefined;
    const { dataReg } = dynset;
    const dataAt = dataReg === undefined ? loads.length : loads.findIndex((load) => load.slot === dataReg);
    const key = loads.slice(0, dataAt);
    const data = loads.slice(dataAt);
    if (dataAt <= 0 || key[0]!.slot !== dynset.keyReg || !isAdjacent(key) || !isAdjacent(data))
      return undefined;
    return {
      kind: 'update',
      op: dynset.op,
      set: dynset.set,
      key: key.map((load) => load.selector),
      ...(dataReg === undefined ? {} : { data: data.map((load) => load.selector) }),
      ...(dynset.timeoutMs === undefined ? {} : { timeoutMs: dynset.timeoutMs }),
    };
  },

  text({ op, set, key, data, timeoutMs }) {
    const timeout = timeoutMs === undefined ? '' : ` timeout ${durationText(timeoutMs)}`;
    const value = data === undefined ? '' : ` : ${selectorsText(data)}`;
    return `${op} @${set} { ${selectorsText(key)}${timeout}${value} }`;
  },
};

const isAdjacent = (loads: readonly Load[]): boolean =>
  loads.every((load, i) => i === 0 || load.slot === loads[i - 1]!.slot + slotsFor(loads[i - 1]!.length));
