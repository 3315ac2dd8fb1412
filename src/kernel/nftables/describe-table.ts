import { elementText } from './element-text.ts';
import { chainProperties, ruleText, setProperties, tableProperties } from './object-text.ts';
import type { SetListing, TableListing } from './table-listing.ts';

export interface DescribeOptions {
  /** Print the elements of sets; default true. A predicate chooses sets by name. */
  readonly elements?: boolean | ((set: string) => boolean);
  /** Print what changes by itself: element timeouts, times left and counters. Default false. */
  readonly state?: boolean;
}

/**
 * A table as text in the manner of `nft list table`, with chains, sets and elements sorted and no handles. Two
 * listings say the same exactly when their descriptions are equal, be they read from the kernel or from
 * the fake. `undefined`, for a table that is not there, is the empty text.
 */
export function describeTable(listing: TableListing | undefined, options: DescribeOptions = {}): string {
  if (listing === undefined) return '';
  const lines = [`table ${listing.family} ${listing.table} {`];
  for (const property of tableProperties(listing)) lines.push(`\t${property}`);
  for (const name of [...listing.sets.keys()].sort()) describeSet(listing.sets.get(name)!, options, lines);
  for (const name of [...listing.chains.keys()].sort()) {
    const { chain, rules } = listing.chains.get(name)!;
    lines.push('', `\tchain ${name} {`);
    for (const property of chainProperties(chain)) lines.push(`\t\t${property}`);
    for (const rule of rules) lines.push(`\t\t${ruleText(rule, listing.family)}`);
    lines.push('\t}');
  }
  lines.push('}', '');
  return lines.join('\n');
}

function describeSet({ set, rows }: SetListing, options: DescribeOptions, lines: string[]): void {
  lines.push('', `\t${set.kind} ${set.name} {`);
  for (const property of setProperties(set)) lines.push(`\t\t${property}`);
  const wanted = options.elements ?? true;
  if (rows !== undefined && rows.count > 0 && (typeof wanted === 'function' ? wanted(set.name) : wanted)) {
    const elements: string[] = [];
    for (let row = 0; row < rows.count; row++) {
      elements.push(elementText(set, rows, row, { state: options.state ?? false }));
    }
    lines.push('\t\telements = {', ...elements.sort().map((element) => `\t\t\t${element},`), '\t\t}');
  }
  lines.push('\t}');
}
