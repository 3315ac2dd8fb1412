import { isJsonObject, type JsonObject } from '../../kube/json/json-fields.ts';
import { notPlain, parsePlainYaml } from '../files/plain-yaml.ts';
import { CredentialsError } from './credentials-error.ts';

/**
 * The document of a kubeconfig's text, YAML or JSON. The YAML library is loaded only for what the small reader leaves
 * to it. Throws CredentialsError CREDENTIALS_KUBECONFIG.
 */
export async function readKubeconfig(file: string, text: string): Promise<JsonObject> {
  let value: unknown = text.trimStart().startsWith('{') ? notPlain : parsePlainYaml(text);
  if (value === notPlain) {
    const { parse } = await import('yaml');
    try {
      value = parse(text);
    } catch (cause) {
      throw new CredentialsError(
        { code: 'CREDENTIALS_KUBECONFIG', file, problem: 'is no valid YAML' },
        { cause },
      );
    }
  }
  if (isJsonObject(value)) return value;
  throw new CredentialsError({ code: 'CREDENTIALS_KUBECONFIG', file, problem: 'is empty or no mapping' });
}
