import { elementText } from './element-text.ts';
import { chainProperties, ruleText, setProperties, tableProperties } from './object-text.ts';
import type { Elements, Family, NftObject, ObjectName } from './objects.ts';
import type { Operation } from './transaction.ts';

/** Rows in one command of the text form. */
const ROWS_PER_COMMAND = 500;

/** An operation as one or more nft commands, each a line for `nft -f`. Throws NftablesError for values that are none. */
export function operationLines(operation: Operation, family: Family, table: string): string[] {
  const where = `${family} ${table}`;
  if (operation.verb !== 'delete' && operation.verb !== 'flush') {
    return additionLines(operation.verb, operation.object, where, family);
  }
  if (operation.verb === 'flush') return [removalLine('flush', operation.object, where)];
  const { object } = operation;
  if (object.kind === 'elements') return elementLines('delete', object, where, 0, object.rows.count);
  return [removalLine('delete', object, where)];
}

/** Some rows of an element operation. */
export function elementLines(
  verb: Operation['verb'],
  { of, rows }: Elements,
  where: string,
  from: number,
  to: number,
): string[] {
  const keyOnly = verb === 'delete';
  const lines: string[] = [];
  for (let start = from; start < to; start += ROWS_PER_COMMAND) {
    const end = Math.min(to, start + ROWS_PER_COMMAND);
    const elements: string[] = [];
    for (let row = start; row < end; row++) elements.push(elementText(of, rows, row, { keyOnly }));
    lines.push(`${verb} element ${where} ${of.name} { ${elements.join(', ')} }`);
  }
  return lines;
}

function additionLines(verb: 'add' | 'create', object: NftObject, where: string, family: Family): string[] {
  switch (object.kind) {
    case 'table':
      return [`${verb} table ${where}${block(tableProperties(object))}`];
    case 'chain':
      return [`${verb} chain ${where} ${object.name}${block(chainProperties(object))}`];
    case 'set':
    case 'map':
      return [`${verb} ${object.kind} ${where} ${object.name}${block(setProperties(object))}`];
    case 'rule':
      return [`add rule ${where} ${object.chain} ${ruleText(object, family)}`];
    case 'elements':
      return elementLines(verb, object, where, 0, object.rows.count);
  }
}

function removalLine(verb: 'delete' | 'flush', object: ObjectName, where: string): string {
  switch (object.kind) {
    case 'table':
      return `${verb} table ${where}`;
    case 'rule':
      return `delete rule ${where} ${object.chain} handle ${object.handle}`;
    default:
      return `${verb} ${object.kind} ${where} ${object.name}`;
  }
}

const block = (properties: readonly string[]): string =>
  properties.length === 0 ? '' : ` { ${properties.map((property) => `${property} ;`).join(' ')} }`;
