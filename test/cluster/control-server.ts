import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ApiServer, ApiServerSettings } from './api-server.ts';
import type { CutStyle, Fault } from './fault.ts';
import { unpack } from './read-objects.ts';
import { type ResourceName, resourceNamed, resourceOfKind } from './resources.ts';

type Command = (body: never, url: URL) => unknown;

/** Lets another process steer an {@link ApiServer} over HTTP, on a port of its own; commands are listed in README.md. */
export class ControlServer {
  readonly #server: Server;
  readonly #commands: Readonly<Record<string, Command>>;

  constructor(apiServer: ApiServer) {
    this.#commands = commandsOf(apiServer);
    this.#server = createServer(async (request, response) => {
      const url = new URL(request.url ?? '/', 'http://control');
      const command = this.#commands[`${request.method} ${url.pathname}`];
      try {
        if (command === undefined) throw new RangeError(`no such command: ${request.method} ${url.pathname}`);
        const result = await command((await readJson(request)) as never, url);
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(`${JSON.stringify(result ?? {})}\n`);
      } catch (error) {
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end(
          `${JSON.stringify({ error: error instanceof Error ? error.message : String(error) })}\n`,
        );
      }
    });
  }

  /** Opens the port (0 picks one) and resolves to the URL. */
  async listen(port = 0): Promise<string> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }
}

interface ObjectName {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

function commandsOf(server: ApiServer): Readonly<Record<string, Command>> {
  const { store } = server;
  return {
    'GET /': () => ({
      url: server.url,
      resourceVersion: store.resourceVersion,
      watches: [...server.watches].map((watch) => watch.resource.name),
      faults: server.faults.list(),
      settings: server.settings,
    }),
    'GET /objects': (_: never, url) => {
      const resource = resourceNamed(url.searchParams.get('resource') ?? '');
      return store.list(resource.name).map((stored) => stored.object);
    },
    'GET /requests': () => server.requests,
    'GET /events': () => server.events,
    'POST /apply': (body: unknown) => {
      const objects = unpack(body);
      for (const object of objects) store.apply(object);
      return { applied: objects.length, resourceVersion: store.resourceVersion };
    },
    'POST /delete': (body: ObjectName | readonly ObjectName[]) => {
      const names = Array.isArray(body) ? (body as readonly ObjectName[]) : [body as ObjectName];
      let deleted = 0;
      for (const { kind, namespace, name } of names) {
        const resource = resourceOfKind(kind);
        if (resource === undefined) throw new RangeError(`the stand-in does not serve kind ${kind}`);
        const inNamespace = resource.namespaced ? (namespace ?? 'default') : undefined;
        if (store.delete(resource.name, inNamespace, name)) deleted += 1;
      }
      return { deleted, resourceVersion: store.resourceVersion };
    },
    'POST /faults': (body: Fault | readonly Fault[]) => {
      for (const fault of Array.isArray(body) ? (body as readonly Fault[]) : [body as Fault])
        server.faults.add(fault);
    },
    'DELETE /faults': () => server.faults.clear(),
    'POST /settings': (body: Partial<ApiServerSettings>) => Object.assign(server.settings, body),
    'POST /watches/hold': (body: { resource?: ResourceName }) => server.holdWatches(body),
    'POST /watches/release': () => server.releaseWatches(),
    'POST /watches/stall': (body: { resource?: ResourceName }) => server.stallWatches(body),
    'POST /watches/cut': (body: { resource?: ResourceName; how?: CutStyle; midFrame?: boolean }) =>
      server.cutWatches(body),
    'POST /watches/end': (body: { resource?: ResourceName }) => server.endWatches(body),
    'POST /watches/bookmark': (body: { resource?: ResourceName }) => server.bookmarkWatches(body),
    'POST /watches/corrupt': (body: { resource?: ResourceName; hex: string }) =>
      server.corruptWatches(Buffer.from(body.hex, 'hex'), body),
    'POST /history/expire': (body: { openWatches?: boolean }) => server.expireHistory(body),
    'POST /history/rewind': (body: { resourceVersion: number; downMilliseconds?: number }) =>
      server.rewind(body.resourceVersion, body.downMilliseconds),
    'POST /continue-tokens/expire': () => server.expireContinueTokens(),
    'POST /listener/stop': () => server.close(),
    'POST /listener/start': () => server.listen(),
    'POST /listener/restart': (body: { downMilliseconds?: number }) => server.restart(body.downMilliseconds),
  };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text.trim() === '' ? {} : JSON.parse(text);
}
