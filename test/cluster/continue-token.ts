/** Where a paged list goes on: a version (-1: whatever is present) and the key after which it continues. */
export interface ContinueToken {
  readonly resourceVersion: number;
  readonly afterKey: string;
}

/** The token in kube-apiserver's own form: base64url of `{"v":"meta.k8s.io/v1","rv":…,"start":"…\u0000"}`. */
export function formatContinueToken(token: ContinueToken): string {
  const slash = token.resourceVersion < 0 ? '' : '/';
  const start = `${slash}${token.afterKey}\\u0000`;
  const json = `{"v":"meta.k8s.io/v1","rv":${token.resourceVersion},"start":"${start}"}`;
  return Buffer.from(json).toString('base64url');
}

/** Reads a token; `undefined` when it is none. */
export function parseContinueToken(text: string): ContinueToken | undefined {
  try {
    const json = JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>;
    const { v, rv, start } = json;
    if (v !== 'meta.k8s.io/v1' || typeof rv !== 'number' || typeof start !== 'string') return undefined;
    return { resourceVersion: rv, afterKey: start.replace(/^\//, '').replace(/\0$/, '') };
  } catch {
    return undefined;
  }
}
