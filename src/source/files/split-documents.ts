/** One document of a manifest file. */
export interface ManifestDocument {
  readonly text: string;
  /** Line of the file on which `text` begins, counted from 1. */
  readonly line: number;
}

/**
 * Cuts a file at its `---` lines. YAML allows no such line inside a document, whatever it holds (YAML 1.2.2, 9.1.2), so
 * this needs no parser. A file with directives (`%YAML`, `%TAG`) is one piece, as is a `---` line that goes on with
 * content; the YAML parser takes those.
 */
export function splitDocuments(text: string): ManifestDocument[] {
  if (text.startsWith('%') || text.includes('\n%')) return [{ text, line: 1 }];
  const documents: ManifestDocument[] = [];
  let start = 0;
  let startLine = 1;
  let line = 1;
  for (let at = 0; at < text.length; line++) {
    const newline = text.indexOf('\n', at);
    const end = newline < 0 ? text.length : newline;
    const next = newline < 0 ? text.length : newline + 1;
    if (isSeparator(text, at, end)) {
      if (at > start) documents.push({ text: text.slice(start, at), line: startLine });
      const isBare = /^---[ \t]*(?:#.*)?\r?$/.test(text.slice(at, end));
      start = isBare ? next : at;
      startLine = isBare ? line + 1 : line;
    }
    at = next;
  }
  if (start < text.length) documents.push({ text: text.slice(start), line: startLine });
  return documents;
}

function isSeparator(text: string, at: number, end: number): boolean {
  if (!text.startsWith('---', at)) return false;
  return at + 3 === end || ' \t\r'.includes(text[at + 3]!);
}
