import { readAccept } from '../base/accept-header.ts';
import type { HttpAnswer } from './http-answer.ts';
import { plainText } from './http-answer.ts';

const GROUP = 'config.k8s.io';

/** A page that people read as text and programs as a versioned object. */
export interface StructuredPage {
  /** `Flagz`, `Statusz`. */
  readonly kind: string;
  readonly text: string;
  /** Everything but `kind` and `apiVersion`. */
  readonly object: Readonly<Record<string, unknown>>;
}

type Form =
  | { readonly type: 'text' }
  | { readonly type: 'json' | 'yaml'; readonly version: 'v1beta1' | 'v1alpha1' };

/**
 * A page in the form the client accepts (operations 4.3): text unless the media type of the object is named with group,
 * version and kind; 406 when neither is accepted.
 */
export async function answerPage(page: StructuredPage, accept: string): Promise<HttpAnswer> {
  const form = negotiate(page.kind, accept);
  if (form === undefined) return plainText(406, notAcceptable(page.kind));
  if (form.type === 'text') return plainText(200, page.text);
  const object = { kind: page.kind, apiVersion: `${GROUP}/${form.version}`, ...page.object };
  const deprecation = `299 - "${GROUP}/v1alpha1 ${page.kind} is deprecated, use ${GROUP}/v1beta1"`;
  const headers = {
    'Content-Type': `application/${form.type}`,
    ...(form.version === 'v1alpha1' && { Warning: deprecation }),
  };
  return {
    status: 200,
    headers,
    body: form.type === 'json' ? `${JSON.stringify(object)}\n` : await toYaml(object),
  };
}

function negotiate(kind: string, accept: string): Form | undefined {
  if (accept.trim() === '') return { type: 'text' };
  for (const { type, parameters, quality } of readAccept(accept)) {
    if (quality === 0) continue;
    if (type === '*/*' || type === 'text/*' || type === 'text/plain') return { type: 'text' };
    const version = parameters.get('v');
    if (type !== 'application/json' && type !== 'application/yaml') continue;
    if (parameters.get('g') !== GROUP || parameters.get('as') !== kind) continue;
    if (version !== 'v1beta1' && version !== 'v1alpha1') continue;
    return { type: type === 'application/json' ? 'json' : 'yaml', version };
  }
  return undefined;
}

function notAcceptable(kind: string): string {
  const structured = `application/json;v=v1beta1;g=${GROUP};as=${kind}`;
  return `406 Not Acceptable: this page comes as text/plain, ${structured}, or the same with application/yaml\n`;
}

async function toYaml(object: unknown): Promise<string> {
  // Loaded when first asked for: the pages are rarely read, and never as YAML by a program that cares for time.
  const { stringify } = await import('yaml');
  return stringify(object);
}
