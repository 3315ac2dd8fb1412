import { ConfigError, describeFault } from './config-error.ts';
import type { Decoding } from './field-type.ts';
import { apiVersion, kind, kubeProxyConfiguration, type V1alpha1Configuration } from './v1alpha1.ts';
import { type DocumentNode, readYamlDocument } from './yaml-document.ts';

/** A decoded file: its fields before defaults, and the line of each field that it gives (by JSON path). */
export interface DecodedFile {
  readonly fields: V1alpha1Configuration;
  readonly lines: ReadonlyMap<string, number>;
  /** What strict decoding would refuse; upstream decodes leniently then and logs it (operations 2.1). */
  readonly strictFaults: readonly string[];
}

/**
 * Decodes a configuration file, YAML or JSON (operations 2.1). Unknown fields and keys given twice are only reported.
 * Throws {@link ConfigError} `CONFIG_FILE_UNDECODABLE` with all faults: bad syntax, another kind or version, wrong types.
 */
export function decodeFile(file: string, content: string): DecodedFile {
  const document = readYamlDocument(content);
  if ('faults' in document) throw ConfigError.undecodable(file, document.faults);
  checkIdentity(file, document);
  const lines = new Map<string, number>();
  const decoding: Decoding = { typeFaults: [], strictFaults: [], lines };
  const fields = kubeProxyConfiguration.decode(document, '', decoding);
  if (decoding.typeFaults.length > 0) throw ConfigError.undecodable(file, decoding.typeFaults);
  return { fields, lines, strictFaults: decoding.strictFaults.map((fault) => describeFault(file, fault)) };
}

function checkIdentity(file: string, document: DocumentNode): void {
  const fail = (line: number, field: string, message: string) => {
    throw ConfigError.undecodable(file, [{ line, field, message }]);
  };
  if (document.kind !== 'map') {
    fail(document.line, '', `must hold the fields of a ${kind}; apiVersion and kind are missing`);
    return;
  }
  for (const [name, wanted] of [
    ['apiVersion', apiVersion],
    ['kind', kind],
  ] as const) {
    const entry = document.entries.findLast((candidate) => candidate.key === name);
    if (entry === undefined) fail(document.line, name, `missing, must be ${wanted}`);
    else if (entry.value.kind !== 'scalar' || entry.value.value !== wanted) {
      const found = entry.value.kind === 'scalar' ? String(entry.value.value) : `a ${entry.value.kind}`;
      fail(entry.line, name, `must be ${wanted}, not ${JSON.stringify(found)}`);
    }
  }
}
