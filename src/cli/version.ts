import { readFileSync } from 'node:fs';

/** The release of Kubernetes whose kube-proxy this program stands in for; what `--version` and the API server are told. */
export const kubernetesVersion = 'v1.36.2';

/** Version of this program, from package.json. */
export function fairleadVersion(): string {
  try {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    return (JSON.parse(text) as { version: string }).version;
  } catch {
    return 'unknown';
  }
}

/** What `--version=raw` prints: one JSON object. */
export function rawVersion(): string {
  return JSON.stringify({
    kubernetes: kubernetesVersion,
    fairlead: fairleadVersion(),
    node: process.version,
    platform: `${process.platform}/${process.arch}`,
  });
}
