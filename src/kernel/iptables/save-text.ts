/** The chain that a line of iptables-save declares (`:NAME POLICY [packets:bytes]`), `undefined` for other lines. */
export function readChainName(line: string): string | undefined {
  if (!line.startsWith(':')) return undefined;
  const end = line.indexOf(' ');
  return end < 0 ? undefined : line.slice(1, end);
}

/** Whether the chain that such a line declares is built in: these alone have a policy. */
export function isBuiltInChain(line: string): boolean {
  return line[line.indexOf(' ') + 1] !== '-';
}

/** A table as iptables-save prints it. */
export interface SavedTable {
  readonly name: string;
  /** Chains in the order of the text, with their rules as printed after `-A CHAIN `. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
}

/** Reads the output of iptables-save, or the input of iptables-restore that only appends. */
export function parseSave(text: string): ReadonlyMap<string, SavedTable> {
  const tables = new Map<string, SavedTable>();
  let chains = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    if (line.startsWith('*')) {
      const name = line.slice(1).trim();
      chains = new Map(tables.get(name)?.chains as ReadonlyMap<string, string[]> | undefined);
      tables.set(name, { name, chains });
      continue;
    }
    const declared = readChainName(line);
    if (declared !== undefined) {
      if (!chains.has(declared)) chains.set(declared, []);
      continue;
    }
    const rule = /^(?:\[\d+:\d+\] )?-A (\S+) ?(.*)$/.exec(line);
    if (rule === null) continue;
    const rules = chains.get(rule[1]!);
    if (rules === undefined) chains.set(rule[1]!, [rule[2]!]);
    else rules.push(rule[2]!);
  }
  return tables;
}
