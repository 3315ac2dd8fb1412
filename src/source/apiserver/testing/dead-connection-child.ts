// An API server, a proxy before it and their client inside one namespace: see dead-connection.netns.test.ts.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveLines } from '../../../../test/netns/testbed/serve-lines.ts';
import { systemClock } from '../../../base/clock.ts';
import { FairleadError } from '../../../base/fairlead-error.ts';
import { type Logger, silentLogger } from '../../../base/logger.ts';
import type { Service } from '../../../kube/service.ts';
import { ApiClient } from '../api-client.ts';
import { services } from '../api-resource.ts';
import { CredentialProvider } from '../credentials.ts';
import type { KeepAlive } from '../http-transport.ts';
import { ListWatch } from '../list-watch.ts';
import { Reflector } from '../reflector.ts';
import { list, service, watch } from './answers.ts';
import { RecordingSink } from './recording-sink.ts';
import { ScriptedServer } from './scripted-server.ts';

export type DeadConnectionRequest =
  /** Starts a server and a client; answers with the port that the client connects to. */
  | {
      readonly op: 'listen';
      readonly way: 'http' | 'https' | 'tunnel';
      readonly keepAlive: KeepAlive;
      readonly answerTimeoutMs: number;
    }
  /** Starts a reflector, which lists nothing and watches; the second watch brings Service `new`. */
  | { readonly op: 'watch' }
  /** What the server has been asked, the sink been told and the log says. */
  | { readonly op: 'state' }
  /** One request; answers with its error's code, or `ok`. */
  | { readonly op: 'get' };

export interface DeadConnectionState {
  readonly watches: number;
  readonly calls: readonly string[];
  readonly warnings: readonly string[];
}

const pem = (name: string) => readFileSync(join(import.meta.dirname, 'testdata', name), 'utf8');
const sink = new RecordingSink<Service>();
const warnings: string[] = [];
const logger: Logger = {
  ...silentLogger,
  warn: (message) => void warnings.push(message),
  with: () => logger,
};
let server: ScriptedServer;
let client: ApiClient;

serveLines<DeadConnectionRequest>(async (request) => {
  switch (request.op) {
    case 'listen': {
      const isTls = request.way !== 'http';
      server = new ScriptedServer(
        isTls ? { key: pem('server-1.key'), cert: pem('server-1.crt') } : undefined,
      );
      server.answer((response) => response.end('fine'));
      await server.listen();
      const proxy = request.way === 'tunnel' ? await startProxy() : undefined;
      client = newClient(proxy, request.keepAlive, request.answerTimeoutMs);
      return proxy ?? server.port;
    }
    case 'watch': {
      const page = list([], { resourceVersion: '10' });
      server.answer(
        page,
        watch(),
        page,
        watch((second) => second.send('ADDED', service('new', 11))),
      );
      const listWatch = new ListWatch(services, client, systemClock);
      const reflector = new Reflector(
        { accept: 'application/vnd.kubernetes.protobuf', useWatchList: false, silenceMs: 3_600_000 },
        { listWatch, sink, clock: systemClock, logger, random: () => 0 },
      );
      void reflector.run(new AbortController().signal);
      return null;
    }
    case 'state': {
      const watches = server.requests.filter(({ query }) => query.has('watch')).length;
      return { watches, calls: sink.calls, warnings } satisfies DeadConnectionState;
    }
    case 'get':
      return client
        .request({ method: 'GET', path: '/version', headers: {} }, new AbortController().signal)
        .then(
          async (response) => {
            await response.readAll(100);
            return 'ok';
          },
          (error: unknown) => (error instanceof FairleadError ? error.code : String(error)),
        );
  }
});

function newClient(proxy: number | undefined, keepAlive: KeepAlive, answerTimeoutMs: number): ApiClient {
  const directory = mkdtempSync(join(tmpdir(), 'dead-connection-'));
  process.on('exit', () => rmSync(directory, { recursive: true }));
  const kubeconfig = join(directory, 'config');
  const cluster = {
    server: server.url,
    ...(server.url.startsWith('https') && {
      'certificate-authority-data': Buffer.from(pem('ca-1.crt')).toString('base64'),
    }),
    ...(proxy !== undefined && { 'proxy-url': `http://localhost:${proxy}` }),
  };
  const document = {
    'current-context': 'x',
    contexts: [{ name: 'x', context: { cluster: 'x' } }],
    clusters: [{ name: 'x', cluster }],
  };
  writeFileSync(kubeconfig, JSON.stringify(document));
  const env = {};
  const credentials = new CredentialProvider({ kubeconfig, master: '' }, { clock: systemClock, logger, env });
  const options = { version: 'test', qps: -1, burst: 1, keepAlive, answerTimeoutMs };
  return new ApiClient(options, { credentials, clock: systemClock, env });
}

async function startProxy(): Promise<number> {
  const proxy = http.createServer();
  proxy.on('connect', (_request, socket: net.Socket) => {
    const upstream = net.connect(server.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(upstream).pipe(socket);
    });
    for (const end of [socket, upstream]) end.on('error', () => {});
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return (proxy.address() as AddressInfo).port;
}
