import { writeHostU32 } from '../../netlink/byte-order.ts';
import { DATA_TYPES, type DataType, formatValue, readNumber } from '../data-type.ts';
import type { Expr } from '../expr/expr.ts';
import {
  intervalText,
  isIntervalValue,
  parseInterval,
  parseIntervals,
  toBytes,
  toNumber,
} from '../intervals.ts';
import { invalidValue } from '../nftables-error.ts';
import type { Selector } from '../selector/selector.ts';
import { type Load, loadSelector } from '../selector/selector-expr.ts';
import { selectorsText, selectorText } from '../selector/selector-text.ts';
import { selectorType } from '../selector/selector-type.ts';
import { buildAnonymousSet, readAnonymousSet } from './anonymous-set.ts';
import type { StatementCodec } from './codec.ts';
import { formatConstant, parseConstant } from './constant.ts';
import type { ExprCursor, Key } from './expr-cursor.ts';
import { isAnonymousName, type RuleBuilder } from './rule-builder.ts';
import type { AnonymousSet, SetReference } from './set-reference.ts';

/**
 * Compares what `left` loads with a constant, a named set or a set written in place.
 *
 * A constant is spelled as in nft: an address or CIDR, a protocol, connection states such as `established,related`
 * (matched when any is set), an interface name where a trailing `*` stands for any rest, or a number.
 */
export interface MatchStatement {
  readonly kind: 'match';
  readonly left: readonly Selector[];
  /** Only these bits of `left` are compared; for marks. */
  readonly mask?: number;
  readonly op: '==' | '!=';
  readonly right: string | number | SetReference | AnonymousSet;
}

export const matchCodec: StatementCodec<MatchStatement> = {
  compile(builder, statement) {
    const { left, right, op } = statement;
    if (typeof right === 'object' && 'set' in right) {
      builder.load(left);
      builder.emit({ kind: 'lookup', set: right.set, sreg: 0, ...(op === '!=' ? { inverted: true } : {}) });
      return;
    }
    const constant = plainConstant(statement);
    if (constant !== undefined) compileConstant(builder, statement, constant);
    else {
      const { set, rows } = buildAnonymousSet(left, right as AnonymousSet);
      builder.load(left);
      const reference = builder.addAnonymous(set, rows);
      builder.emit({ kind: 'lookup', ...reference, sreg: 0, ...(op === '!=' ? { inverted: true } : {}) });
    }
  },

  recognize(cursor) {
    const key = cursor.takeKey();
    if (key === undefined) return undefined;
    const lookup = cursor.take('lookup');
    if (lookup === undefined) return recognizeConstant(cursor, key);
    if (lookup.sreg !== key.slot || lookup.dreg !== undefined) return undefined;
    const right = resolveSet(cursor, lookup.set);
    const op = lookup.inverted === true ? '!=' : '==';
    return right && { kind: 'match', left: key.selectors, op, right };
  },

  text(statement) {
    const { left, right, mask } = statement;
    const op = statement.op === '!=' ? ' !=' : '';
    const selectors = selectorsText(left);
    if (typeof right === 'object' && 'set' in right) return `${selectors}${op} @${right.set}`;
    const constant = plainConstant(statement);
    if (constant === undefined) {
      return `${selectors}${op} ${buildAnonymousSet(left, right as AnonymousSet).text}`;
    }
    const { selector, type } = single(statement);
    if (isRange(type, constant)) {
      return `${selectors}${op} ${intervalText(type, parseInterval(type, constant))}`;
    }
    if (mask !== undefined) {
      const name = type === 'mark' && selector.kind === 'meta' ? 'mark' : selectors;
      const number = parseConstant(type, constant).text.replace('0x00000000', '0');
      return `${name} and 0x${mask.toString(16).padStart(8, '0')} ${statement.op} ${number}`;
    }
    return `${selectors}${op} ${parseConstant(type, constant).text}`;
  },
};

/** The one constant `left` is compared with; a set of one value, network or range is just that, as in nft. */
function plainConstant({ right, left }: MatchStatement): string | number | undefined {
  if (typeof right !== 'object') return right;
  if (!('values' in right) || left.length !== 1) return undefined;
  const [first, ...others] = right.values;
  if (first === undefined || others.length === 0) return first;
  const type = selectorType(left[0]!);
  // Several networks that add up to one interval are that interval.
  if (!right.values.some((value) => isIntervalValue(type, value))) return undefined;
  const intervals = parseIntervals(type, right.values);
  return intervals.length === 1 ? intervalText(type, intervals[0]!) : undefined;
}

function single({ left }: MatchStatement): { selector: Selector; type: DataType } {
  const [selector] = left;
  if (selector === undefined || left.length !== 1) {
    throw invalidValue(
      'match',
      selectorsText(left),
      'one field, which is all a constant can be compared with',
    );
  }
  return { selector, type: selectorType(selector) };
}

function compileConstant(builder: RuleBuilder, statement: MatchStatement, value: string | number): void {
  const { selector, type } = single(statement);
  const { length, bitmask } = DATA_TYPES[type];
  const op = statement.op === '==' ? 'eq' : 'neq';
  const load = (bytes?: number): Expr => loadSelector(selector, builder.family, 0, bytes);
  if (isRange(type, value)) {
    const { first, last } = parseInterval(type, value);
    builder.emit(load());
    builder.emit({ kind: 'range', op, sreg: 0, from: toBytes(first, length), to: toBytes(last, length) });
    return;
  }
  const constant = parseConstant(type, value);
  if (bitmask === true) {
    if (op === 'neq')
      throw invalidValue('match', selectorText(selector), 'bits, which can only be matched with ==');
    builder.emit(load());
    builder.emit({ kind: 'bitwise', sreg: 0, dreg: 0, mask: constant.data, xor: Buffer.alloc(length) });
    builder.emit({ kind: 'cmp', op: 'neq', sreg: 0, data: Buffer.alloc(length) });
    return;
  }
  let mask = constant.mask;
  if (statement.mask !== undefined) {
    if (length !== 4 || DATA_TYPES[type].order !== 'host') {
      throw invalidValue('match', selectorText(selector), 'a mark or number, which alone can have a mask');
    }
    mask = Buffer.alloc(4);
    writeHostU32(mask, statement.mask, 0);
  }
  builder.emit(load(type === 'ifname' || constant.data.length === length ? undefined : constant.data.length));
  if (mask !== undefined)
    builder.emit({ kind: 'bitwise', sreg: 0, dreg: 0, mask, xor: Buffer.alloc(length) });
  builder.emit({ kind: 'cmp', op, sreg: 0, data: constant.data });
}

function recognizeConstant(cursor: ExprCursor, key: Key): MatchStatement | undefined {
  const [load] = key.loads;
  if (load === undefined || key.loads.length !== 1) return undefined;
  const { selector, slot, length } = load;
  const type = selectorType(selector);
  const info = DATA_TYPES[type];
  const range = recognizeRange(cursor, load, type);
  if (range !== undefined) return range;
  const bitwise = cursor.take('bitwise');
  if (bitwise !== undefined && (bitwise.sreg !== slot || bitwise.dreg !== slot || !isZero(bitwise.xor))) {
    return undefined;
  }
  const cmp = cursor.take('cmp');
  if (cmp === undefined || cmp.sreg !== slot || (cmp.op !== 'eq' && cmp.op !== 'neq')) return undefined;
  const op = cmp.op === 'eq' ? '==' : '!=';
  const data = Buffer.from(cmp.data);
  const mask = bitwise && Buffer.from(bitwise.mask);
  if (mask !== undefined && mask.length !== info.length) return undefined;
  if (info.bitmask === true) {
    // `ct state new` is written as "any of these bits is set".
    if (mask === undefined || op !== '!=' || !isZero(data)) return undefined;
    return { kind: 'match', left: [selector], op: '==', right: formatValue(type, mask) };
  }
  if (mask !== undefined && info.order === 'host' && info.length === 4 && data.length === 4) {
    const right = readNumber(info, data, 0);
    return { kind: 'match', left: [selector], mask: readNumber(info, mask, 0), op, right };
  }
  const right = formatConstant(type, data, length, mask);
  return right === undefined ? undefined : { kind: 'match', left: [selector], op, right };
}

/** A range expression, or the pair of comparisons that nft makes of a range. */
function recognizeRange(cursor: ExprCursor, load: Load, type: DataType): MatchStatement | undefined {
  const start = cursor.index;
  const { slot, length, selector } = load;
  const statement = (op: '==' | '!=', from: Uint8Array, to: Uint8Array): MatchStatement | undefined => {
    if (from.length !== DATA_TYPES[type].length || length !== from.length || to.length !== length)
      return undefined;
    const interval = { first: toNumber(Buffer.from(from)), last: toNumber(Buffer.from(to)) };
    return { kind: 'match', left: [selector], op, right: intervalText(type, interval) };
  };
  const range = cursor.take('range');
  if (range?.sreg === slot) return statement(range.op === 'eq' ? '==' : '!=', range.from, range.to);
  const low = cursor.take('cmp');
  const high = cursor.take('cmp');
  if (low?.op === 'gte' && high?.op === 'lte' && low.sreg === slot && high.sreg === slot) {
    return statement('==', low.data, high.data);
  }
  cursor.index = start;
  return undefined;
}

const isRange = (type: DataType, value: string | number): boolean =>
  isIntervalValue(type, value) && String(value).includes('-');

function resolveSet(cursor: ExprCursor, name: string): SetReference | AnonymousSet | undefined {
  if (!isAnonymousName(name)) return { set: name };
  const found = cursor.resolve(name);
  return found && readAnonymousSet(found.set, found.rows);
}

const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);
