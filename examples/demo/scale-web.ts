import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isSeq, parseAllDocuments } from 'yaml';
import { PODS } from './shop-network.ts';

/** Adds web-3 to both EndpointSlices in `web.yaml`, as one would in an editor. Throws when the file looks different. */
export function scaleWeb(manifests: string): void {
  const path = join(manifests, 'web.yaml');
  const pod = PODS.find(({ name }) => name === 'web-3');
  if (pod === undefined) throw new Error('the network has no pod web-3');
  const documents = parseAllDocuments(readFileSync(path, 'utf8'));
  if (!Array.isArray(documents)) throw new Error(`${path} is empty`);
  let slices = 0;
  for (const document of documents) {
    if (document.get('kind') !== 'EndpointSlice') continue;
    const address = document.get('addressType') === 'IPv6' ? pod.ipv6 : pod.ipv4;
    const endpoints = document.get('endpoints');
    if (!isSeq(endpoints)) throw new Error(`${path}: an EndpointSlice without endpoints`);
    const endpoint = document.createNode(
      { addresses: [address], nodeName: pod.node, conditions: { ready: true } },
      { flow: true },
    );
    endpoint.comment = ` ${pod.name}`;
    endpoints.add(endpoint);
    slices += 1;
  }
  if (slices !== 2) throw new Error(`${path}: ${slices} EndpointSlices, not 2`);
  // A proxy that reads the file while it is written would see half of it.
  const staged = `${path}.tmp`;
  writeFileSync(staged, documents.map((document) => document.toString({ lineWidth: 0 })).join(''));
  renameSync(staged, path);
}
