import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PODS } from './shop-network.ts';

/**
 * Adds web-3 to both EndpointSlices in `web.yaml` the way one would in an editor: a copy of the line of web-2 with
 * another address. Throws when the file does not have exactly these two lines.
 */
export function scaleWeb(manifests: string): void {
  const path = join(manifests, 'web.yaml');
  // A proxy that reads the file while it is written would see half of it.
  const staged = `${path}.tmp`;
  writeFileSync(staged, addWeb3(readFileSync(path, 'utf8')));
  renameSync(staged, path);
}

export function addWeb3(text: string): string {
  const [old, added] = ['web-2', 'web-3'].map((name) => PODS.find((pod) => pod.name === name));
  if (old === undefined || added === undefined) throw new Error('the network lacks web-2 or web-3');
  let copies = 0;
  const lines = text.split('\n').flatMap((line) => {
    if (!line.endsWith(`# ${old.name}`)) return [line];
    copies += 1;
    const copy = line
      .replace(old.ipv4, added.ipv4)
      .replace(old.ipv6, added.ipv6)
      .replace(`# ${old.name}`, `# ${added.name}`);
    return [line, copy];
  });
  if (copies !== 2) throw new Error(`web.yaml has ${copies} endpoints marked "# ${old.name}", not 2`);
  return lines.join('\n');
}
