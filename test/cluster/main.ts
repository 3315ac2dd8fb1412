import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { ApiServer, type ApiServerOptions } from './api-server.ts';
import { makeAuthority, makeCertificate } from './certificate.ts';
import { ControlServer } from './control-server.ts';
import { type ClusterShape, generateObjects } from './generate-objects.ts';
import { kubeconfig } from './kubeconfig.ts';
import type { ObjectStore } from './object-store.ts';
import { readObjects } from './read-objects.ts';
import { resources } from './resources.ts';

const usage = `usage: node test/cluster/main.ts [--host ADDRESS] [--port N] [--control-port N] [--objects DIR]
         [--generate services=N,endpoints=N[,local=N][,nodes=N][,dualStack=true][,nodePortEvery=N][,udpEvery=N]
                    [,managedFields=true]]
         [--token TOKEN] [--tls] [--kubeconfig FILE] [--watch-list served|refused|ignored] [--no-protobuf]`;

const { values: flags } = parseArgs({
  options: {
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '0' },
    'control-port': { type: 'string', default: '0' },
    objects: { type: 'string' },
    generate: { type: 'string' },
    token: { type: 'string' },
    tls: { type: 'boolean', default: false },
    kubeconfig: { type: 'string' },
    'watch-list': { type: 'string', default: 'served' },
    'no-protobuf': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (flags.help) {
  console.log(usage);
} else {
  await run();
}

async function run(): Promise<void> {
  const { host, token } = flags;
  const authority = flags.tls ? makeAuthority('stand-in') : undefined;
  const options: ApiServerOptions = {
    host,
    port: Number(flags.port),
    watchList: flags['watch-list'] as 'served' | 'refused' | 'ignored',
    protobuf: !flags['no-protobuf'],
    ...(token === undefined ? {} : { tokens: [token] }),
    ...(authority === undefined
      ? {}
      : { tls: makeCertificate(authority, 'kube-apiserver', [host, 'localhost']) }),
  };
  const server = new ApiServer(options);
  if (flags.objects !== undefined) server.store.load(readObjects(flags.objects));
  if (flags.generate !== undefined) server.store.load(generateObjects(parseShape(flags.generate)));
  encodeAll(server.store);
  await server.listen();
  const control = new ControlServer(server);
  const controlUrl = await control.listen(Number(flags['control-port']));
  if (flags.kubeconfig !== undefined) {
    const text = kubeconfig({
      server: server.url,
      ...(authority === undefined ? {} : { authority: authority.certificate }),
      ...(token === undefined ? {} : { token }),
    });
    writeFileSync(flags.kubeconfig, text, { mode: 0o600 });
  }
  const started = { url: server.url, control: controlUrl, pid: process.pid };
  console.log(JSON.stringify({ ...started, resourceVersion: server.store.resourceVersion }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, async () => {
      await Promise.all([server.close(), control.close()]);
      process.exit(0);
    });
  }
}

function parseShape(text: string): ClusterShape {
  const entries = text.split(',').map((pair) => {
    const [key = '', value = ''] = pair.split('=');
    const known = [
      'services',
      'endpoints',
      'local',
      'nodes',
      'dualStack',
      'nodePortEvery',
      'udpEvery',
      'managedFields',
    ];
    if (!known.includes(key))
      throw new RangeError(`--generate: unknown key ${JSON.stringify(key)}\n${usage}`);
    return [key, key === 'dualStack' || key === 'managedFields' ? value === 'true' : Number(value)];
  });
  return { services: 0, endpoints: 0, ...(Object.fromEntries(entries) as Partial<ClusterShape>) };
}

/** Makes both encodings of every object before the first client comes, so that its time is not spent on ours. */
function encodeAll(store: ObjectStore): void {
  for (const resource of resources) {
    for (const stored of store.list(resource.name)) {
      stored.jsonObject();
      stored.protobufItem();
    }
  }
}
