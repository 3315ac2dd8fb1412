import type { Document, Node, Scalar } from 'yaml';
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseAllDocuments } from 'yaml';
import type { FileFault } from './config-error.ts';
import { resolvePlainScalar, type ScalarValue } from './plain-scalar.ts';

/** A value of a YAML or JSON document with the line (from 1) it stands on. Scalars are typed by YAML 1.1 rules. */
export type DocumentNode =
  | { readonly kind: 'scalar'; readonly line: number; readonly value: ScalarValue }
  | { readonly kind: 'list'; readonly line: number; readonly items: readonly DocumentNode[] }
  | { readonly kind: 'map'; readonly line: number; readonly entries: readonly DocumentEntry[] };

/** A key with its value; a key that is given twice makes two entries. */
export interface DocumentEntry {
  readonly key: string;
  readonly line: number;
  readonly value: DocumentNode;
}

/**
 * Reads the first document of a YAML stream, or JSON. Later documents are not looked at, not even for errors.
 * Returns the syntax faults instead when there are any.
 */
export function readYamlDocument(text: string): DocumentNode | { readonly faults: readonly FileFault[] } {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, {
    schema: 'failsafe',
    version: '1.1',
    uniqueKeys: false,
    lineCounter: lines,
    prettyErrors: false,
  });
  const document = 'empty' in documents ? undefined : documents[0];
  if (document === undefined) return { kind: 'scalar', line: 1, value: null };
  const lineAt = (offset: number | undefined) => (offset === undefined ? 1 : lines.linePos(offset).line);
  const faults: FileFault[] = document.errors.map((error) => ({
    line: lineAt(error.pos[0]),
    field: '',
    message: `not valid YAML: ${error.message}`,
  }));
  if (faults.length > 0) return { faults };
  const reader = new NodeReader(document, lineAt, faults);
  const root = reader.read(document.contents, 0);
  return faults.length > 0 ? { faults } : root;
}

class NodeReader {
  readonly #document: Document;
  readonly #lineAt: (offset: number | undefined) => number;
  readonly #faults: FileFault[];
  /** Anchored nodes are read once and shared, so that nested aliases cannot blow the tree up. */
  readonly #seen = new Map<Node, DocumentNode | 'open'>();

  constructor(document: Document, lineAt: (offset: number | undefined) => number, faults: FileFault[]) {
    this.#document = document;
    this.#lineAt = lineAt;
    this.#faults = faults;
  }

  read(node: unknown, enclosingLine: number): DocumentNode {
    if (isAlias(node)) {
      const line = this.#lineAt(node.range?.[0]);
      const target = node.resolve(this.#document);
      if (target === undefined) return this.#fault(line, `unknown alias *${node.source}`);
      if (this.#seen.get(target) === 'open')
        return this.#fault(line, `anchor &${node.source} contains itself`);
      return this.read(target, line);
    }
    if (!isScalar(node) && !isMap(node) && !isSeq(node))
      return { kind: 'scalar', line: Math.max(1, enclosingLine), value: null };
    const known = this.#seen.get(node);
    if (known !== undefined && known !== 'open') return known;
    this.#seen.set(node, 'open');
    const result = this.#convert(node, this.#lineAt(node.range?.[0]));
    this.#seen.set(node, result);
    return result;
  }

  #convert(node: Node, line: number): DocumentNode {
    if (isSeq(node)) return { kind: 'list', line, items: node.items.map((item) => this.read(item, line)) };
    if (isMap(node)) return { kind: 'map', line, entries: this.#entries(node.items, line) };
    if (!isScalar(node)) return this.#fault(line, 'unexpected node');
    const text = String(node.value ?? '');
    return { kind: 'scalar', line, value: isText(node) ? text : resolvePlainScalar(text) };
  }

  #entries(pairs: readonly { key: unknown; value: unknown }[], mapLine: number): DocumentEntry[] {
    const merged: DocumentEntry[] = [];
    const own: DocumentEntry[] = [];
    for (const pair of pairs) {
      const key = this.read(pair.key, mapLine);
      if (key.kind !== 'scalar') {
        this.#fault(key.line, 'a key must be a single word');
        continue;
      }
      const value = this.read(pair.value, key.line);
      if (key.value === '<<') merged.push(...mergeSources(value));
      else own.push({ key: String(key.value), line: key.line, value });
    }
    // Keys of the map itself win over merged ones, and the earlier merge source over the later.
    const names = new Set(own.map((entry) => entry.key));
    for (const entry of merged) {
      if (!names.has(entry.key)) own.push(entry);
      names.add(entry.key);
    }
    return own;
  }

  #fault(line: number, message: string): DocumentNode {
    this.#faults.push({ line, field: '', message });
    return { kind: 'scalar', line, value: null };
  }
}

function mergeSources(node: DocumentNode): readonly DocumentEntry[] {
  if (node.kind === 'map') return node.entries;
  return node.kind === 'list' ? node.items.flatMap(mergeSources) : [];
}

/** Whether a scalar is text whatever it looks like: quoted, or marked as a string. A mark such as `!!bool` undoes quotes. */
function isText(node: Scalar): boolean {
  if (node.tag !== undefined) return node.tag === 'tag:yaml.org,2002:str';
  return node.type !== 'PLAIN' && node.type !== undefined;
}
