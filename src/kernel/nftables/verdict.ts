import type { AttributeReader } from '../netlink/attribute-reader.ts';
import type { AttributeWriter } from '../netlink/attribute-writer.ts';

/** What becomes of a packet, spelled as nft does. Being text it compares with `===`. */
export type Verdict = 'accept' | 'drop' | 'continue' | 'return' | `jump ${string}` | `goto ${string}`;

// linux/netfilter/nf_tables.h
const NFTA_VERDICT_CODE = 1;
const NFTA_VERDICT_CHAIN = 2;
const CODES = { drop: 0, accept: 1, continue: -1, jump: -3, goto: -4, return: -5 } as const;
const NAMES = new Map<number, keyof typeof CODES>(
  Object.entries(CODES).map(([name, code]) => [code, name as keyof typeof CODES]),
);

/** The chain a verdict leads to, or `undefined`. */
export function verdictChain(verdict: Verdict): string | undefined {
  const chain = verdict.startsWith('jump ') || verdict.startsWith('goto ') ? verdict.slice(5) : undefined;
  return chain === '' ? undefined : chain;
}

/** Whether text is a verdict. */
export function isVerdict(text: string): text is Verdict {
  return (
    (Object.hasOwn(CODES, text) && text !== 'jump' && text !== 'goto') || /^(jump|goto) [^ ]+$/.test(text)
  );
}

/** Appends the NFTA_VERDICT_* attributes. */
export function encodeVerdict(writer: AttributeWriter, verdict: Verdict): void {
  const chain = verdictChain(verdict);
  const code = CODES[(chain === undefined ? verdict : verdict.slice(0, 4)) as keyof typeof CODES];
  if (code === undefined || !isVerdict(verdict)) {
    writer.fail(`${JSON.stringify(verdict)} is not a verdict`);
    return;
  }
  writer.addI32be(NFTA_VERDICT_CODE, code);
  if (chain !== undefined) writer.addString(NFTA_VERDICT_CHAIN, chain);
}

/** Reads what {@link encodeVerdict} writes; codes without a name (e.g. queue) become `undefined`. */
export function decodeVerdict(reader: AttributeReader): Verdict | undefined {
  let code: number | undefined;
  let chain = '';
  while (reader.next()) {
    if (reader.type === NFTA_VERDICT_CODE) code = reader.i32be();
    else if (reader.type === NFTA_VERDICT_CHAIN) chain = reader.string();
  }
  const name = code === undefined ? undefined : NAMES.get(code);
  return name === 'jump' || name === 'goto' ? `${name} ${chain}` : name;
}
