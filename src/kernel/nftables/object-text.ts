import { commentText, cutComment } from './comment.ts';
import { durationText } from './duration.ts';
import { layoutTypes } from './layout.ts';
import type { Chain, Family, Layout, NftMap, NftSet, Rule, Table } from './objects.ts';
import { selectorsText } from './selector/selector-text.ts';
import { statementsText } from './statement/statement.ts';

/** The lines between the braces of a table's declaration that are about the table itself. */
export function tableProperties({ comment, dormant, owner }: Omit<Table, 'kind'>): string[] {
  const lines: string[] = [];
  const flags = [...(dormant === true ? ['dormant'] : []), ...(owner === true ? ['owner'] : [])];
  if (flags.length > 0) lines.push(`flags ${flags.join(',')}`);
  if (comment !== undefined) lines.push(`comment "${cutComment(comment)}"`);
  return lines;
}

/** The lines between the braces of a chain's declaration. */
export function chainProperties(chain: Chain): string[] {
  const lines: string[] = [];
  if (chain.comment !== undefined) lines.push(`comment "${cutComment(chain.comment)}"`);
  if (chain.base !== undefined) {
    const { type, hook, priority, policy } = chain.base;
    lines.push(`type ${type} hook ${hook} priority ${priority}`, `policy ${policy ?? 'accept'}`);
  }
  return lines;
}

/** The lines between the braces of a set's or map's declaration. */
export function setProperties(set: NftSet | NftMap): string[] {
  const key = layoutText(set.key);
  const data =
    set.kind === 'map' ? ` : ${set.data === 'verdict' ? 'verdict' : bareLayout(set.data, set.key)}` : '';
  const lines = [`${key}${data}`];
  if (set.size !== undefined) lines.push(`size ${set.size}`);
  if (set.flags !== undefined && set.flags.length > 0) {
    lines.push(`flags ${[...set.flags].sort().join(',')}`);
  }
  if (set.timeoutMs !== undefined) lines.push(`timeout ${durationText(set.timeoutMs)}`);
  if (set.counter === true) lines.push('counter');
  if (set.comment !== undefined) lines.push(`comment "${cutComment(set.comment)}"`);
  return lines;
}

/** A rule in nft syntax, comment included. Throws NftablesError for values that are none. */
export const ruleText = (rule: Rule, family: Family): string =>
  `${statementsText(rule.statements, family)}${commentText(rule.comment)}`;

function layoutText(layout: Layout): string {
  if ('typeof' in layout) return `typeof ${selectorsText(layout.typeof)}`;
  return `type ${typesText(layout)}`;
}

/** The data's layout behind the colon, in the terms the key's keyword asks for. */
function bareLayout(data: Layout, key: Layout): string {
  if ('typeof' in key) return 'typeof' in data ? selectorsText(data.typeof) : typesText(data);
  return typesText(data);
}

const typesText = (layout: Layout): string => {
  const types = layoutTypes(layout);
  return types.length === 0 ? '?' : types.join(' . ');
};
