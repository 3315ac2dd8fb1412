import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from './kube-object.ts';

/** All objects of the `*.yaml`, `*.yml` and `*.json` files of a folder; lists are unpacked. Throws on a bad file. */
export function readObjects(folder: string): KubeObject[] {
  const files = readdirSync(folder).filter((name) => /\.(ya?ml|json)$/.test(name));
  return files.sort().flatMap((name) => parseObjects(readFileSync(join(folder, name), 'utf8'), name));
}

/** The objects of a text with one or more YAML or JSON documents. Throws with `origin` in the message. */
function parseObjects(text: string, origin: string): KubeObject[] {
  const values = text.trimStart().startsWith('{')
    ? [JSON.parse(text) as unknown]
    : parseAllDocuments(text).map((document) => {
        const [error] = document.errors;
        if (error !== undefined) throw new Error(`${origin}: ${error.message}`);
        return document.toJS() as unknown;
      });
  return values.flatMap((value) =>
    value === null || value === undefined ? [] : unpack(value as KubeObject),
  );
}

/** The objects inside a value: itself, or the items of a `List`, `ServiceList`, … or of a plain array. */
export function unpack(value: unknown): KubeObject[] {
  if (Array.isArray(value)) return value.flatMap(unpack);
  const { kind, items, apiVersion } = value as KubeObject & { items?: KubeObject[] };
  if (items === undefined || kind === undefined || !kind.endsWith('List')) return [value as KubeObject];
  const itemKind = kind.slice(0, -'List'.length);
  const header =
    itemKind === '' ? {} : { kind: itemKind, ...(apiVersion === undefined ? {} : { apiVersion }) };
  return items.map((item) => ({ ...header, ...item }));
}
