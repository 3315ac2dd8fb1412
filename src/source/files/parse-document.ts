import { ManifestError } from './manifest-error.ts';
import { notPlain, parsePlainYaml } from './plain-yaml.ts';
import type { ManifestDocument } from './split-documents.ts';

/**
 * The values of a document: none when it is empty, usually one. JSON and plain YAML are read directly; the YAML
 * library is loaded when something needs it. Throws ManifestError MANIFEST_SYNTAX.
 */
export async function parseDocument(document: ManifestDocument): Promise<readonly unknown[]> {
  const { text } = document;
  const value = text.trimStart().startsWith('{') ? parseJson(text) : parsePlainYaml(text);
  return value === notPlain ? parseWithLibrary(document) : value === null ? [] : [value];
}

/**
 * The line of the file on which the field at `path` (as in `spec.ports[1].port`) of a document stands, or of the
 * nearest field above it that exists.
 */
export async function lineOfField(document: ManifestDocument, path: string): Promise<number> {
  const { LineCounter, parseAllDocuments, isNode } = await import('yaml');
  const lineCounter = new LineCounter();
  const [parsed] = parseAllDocuments(document.text, { lineCounter, merge: true });
  const steps = path.split(/[.[\]]+/).filter((step) => step !== '');
  for (let length = steps.length; length >= 0; length--) {
    const found = parsed?.getIn(steps.slice(0, length), true);
    if (isNode(found) && found.range) return document.line + lineCounter.linePos(found.range[0]).line - 1;
  }
  return document.line;
}

async function parseWithLibrary(document: ManifestDocument): Promise<readonly unknown[]> {
  const { parseAllDocuments } = await import('yaml');
  const values: unknown[] = [];
  // `merge` as in kubectl: `<<` takes over the fields of another mapping.
  for (const parsed of parseAllDocuments(document.text, { merge: true, prettyErrors: true })) {
    const [error] = parsed.errors;
    if (error !== undefined) {
      const [start] = error.linePos ?? [{ line: 1, col: 1 }];
      throw new ManifestError({
        code: 'MANIFEST_SYNTAX',
        line: document.line + start.line - 1,
        column: start.col,
        // The library adds the position and the source lines below the message.
        problem: error.message.split('\n')[0]!.replace(/ at line \d+, column \d+:?$/, ''),
      });
    }
    const value = toValue(parsed, document);
    if (value !== null && value !== undefined) values.push(value);
  }
  return values;
}

/** What is wrong with anchors and merge keys shows here. */
function toValue(parsed: { toJS(): unknown }, { line }: ManifestDocument): unknown {
  try {
    return parsed.toJS();
  } catch (cause) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    throw new ManifestError({ code: 'MANIFEST_SYNTAX', line, column: 1, problem }, { cause });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A YAML flow mapping, or broken: the library says which, and where.
    return notPlain;
  }
}
