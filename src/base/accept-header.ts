/** One entry of an `Accept` or `Accept-Encoding` header. */
export interface AcceptClause {
  /** Media type or encoding, in lower case; may be or contain `*`. */
  readonly type: string;
  /** Parameters other than `q`; names in lower case. */
  readonly parameters: ReadonlyMap<string, string>;
  /** 0 to 1. */
  readonly quality: number;
}

/**
 * Reads an `Accept` or `Accept-Encoding` header, most wanted entries first; of equally wanted ones those without a
 * wildcard, then in the order of the header. Entries that cannot be read are left out.
 */
export function readAccept(header: string): readonly AcceptClause[] {
  const clauses: AcceptClause[] = [];
  for (const entry of header.split(',')) {
    const [type = '', ...rest] = entry.split(';').map((part) => part.trim());
    if (type === '') continue;
    const parameters = new Map<string, string>();
    let quality = 1;
    for (const part of rest) {
      const equals = part.indexOf('=');
      if (equals < 0) continue;
      const name = part.slice(0, equals).trim().toLowerCase();
      const value = part
        .slice(equals + 1)
        .trim()
        .replace(/^"(.*)"$/, '$1');
      if (name === 'q') quality = readQuality(value);
      else parameters.set(name, value);
    }
    clauses.push({ type: type.toLowerCase(), parameters, quality });
  }
  return clauses.toSorted((a, b) => b.quality - a.quality || wildcards(a.type) - wildcards(b.type));
}

/** How much a name is wanted, 0 to 1, itself or through `*`; -1 when the header does not speak of it. */
export function qualityOf(clauses: readonly AcceptClause[], name: string): number {
  const qualities = clauses.filter(({ type }) => type === name || type === '*').map(({ quality }) => quality);
  return Math.max(-1, ...qualities);
}

function readQuality(text: string): number {
  const value = Number(text);
  return text !== '' && value >= 0 && value <= 1 ? value : 1;
}

function wildcards(type: string): number {
  return type.split('*').length;
}
