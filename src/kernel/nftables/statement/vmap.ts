import type { Selector } from '../selector/selector.ts';
import { selectorsText } from '../selector/selector-text.ts';
import { buildVerdictMap, readVerdictMap } from './anonymous-set.ts';
import type { StatementCodec } from './codec.ts';
import { isAnonymousName } from './rule-builder.ts';
import type { AnonymousVerdictMap, SetReference } from './set-reference.ts';

/** Looks up a verdict by what `key` loads; the rule goes on to the next one when there is none. */
export interface VmapStatement {
  readonly kind: 'vmap';
  readonly key: readonly Selector[];
  readonly map: SetReference | AnonymousVerdictMap;
}

export const vmapCodec: StatementCodec<VmapStatement> = {
  compile(builder, { key, map }) {
    builder.load(key);
    if ('set' in map) {
      builder.emit({ kind: 'lookup', set: map.set, sreg: 0, dreg: 'verdict' });
      return;
    }
    const { set, rows } = buildVerdictMap(key, map);
    builder.emit({ kind: 'lookup', ...builder.addAnonymous(set, rows), sreg: 0, dreg: 'verdict' });
  },

  recognize(cursor) {
    const key = cursor.takeKey();
    const lookup = cursor.take('lookup');
    if (key === undefined || lookup?.dreg !== 'verdict' || lookup.sreg !== key.slot) return undefined;
    if (!isAnonymousName(lookup.set)) return { kind: 'vmap', key: key.selectors, map: { set: lookup.set } };
    const found = cursor.resolve(lookup.set);
    const map = found && readVerdictMap(found.set, found.rows);
    return map && { kind: 'vmap', key: key.selectors, map };
  },

  text: ({ key, map }) =>
    `${selectorsText(key)} vmap ${'set' in map ? `@${map.set}` : buildVerdictMap(key, map).text}`,
};
