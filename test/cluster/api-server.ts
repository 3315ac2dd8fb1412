import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { answerRequest } from './answer-request.ts';
import { type CutStyle, FaultQueue } from './fault.ts';
import { ListBodyCache } from './list-body-cache.ts';
import { ObjectStore } from './object-store.ts';
import type { ResourceName } from './resources.ts';
import { tooOldVersion } from './status.ts';
import type { WatchSession } from './watch-session.ts';

export interface TlsIdentity {
  /** PEM texts. */
  readonly certificate: string;
  readonly key: string;
  /** CA of client certificates; with it a client certificate is as good as a token. */
  readonly clientCa?: string;
}

/** Behaviour of the stand-in that tests may set at the start and change at any time. */
export interface ApiServerSettings {
  /** Bearer tokens that are let in; `undefined` lets everybody in. */
  tokens: readonly string[] | undefined;
  /** Whether `application/vnd.kubernetes.protobuf` is spoken; without it the answer is 406. */
  protobuf: boolean;
  /** `sendInitialEvents`: served, refused with 422 (gate off), or ignored as by servers older than 1.27. */
  watchList: 'served' | 'refused' | 'ignored';
  /** Resources that this server does not have: 404. */
  absent: readonly ResourceName[];
  /** Resources that the client has no right to: 403. */
  denied: readonly ResourceName[];
  bookmarkIntervalMilliseconds: number;
  lastBookmarkMilliseconds: number;
  futureVersionMilliseconds: number;
  /** Of a watch without `timeoutSeconds`; kube-apiserver picks 30 to 60 minutes. */
  defaultTimeoutMilliseconds: number;
  /** `gitVersion` of `/version`. */
  version: string;
}

export interface ApiServerOptions extends Partial<ApiServerSettings> {
  readonly host?: string;
  /** 0 picks a free port. */
  readonly port?: number;
  readonly tls?: TlsIdentity;
  readonly store?: ObjectStore;
}

/** One line of the request log. */
export interface RequestRecord {
  readonly verb: string;
  readonly resource: string | undefined;
  readonly url: string;
  readonly accept: string | undefined;
  readonly userAgent: string | undefined;
  status: number;
}

/** An Event as a client wrote it. */
export interface RecordedEvent {
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
  readonly reason?: string;
  readonly [field: string]: unknown;
}

export interface WatchSelection {
  readonly resource?: ResourceName;
}

const requestLogLimit = 2000;

/**
 * A stand-in for kube-apiserver as a Service proxy sees it; see README.md for what it imitates. Nothing listens before
 * {@link listen}. All fault methods take effect at once.
 */
export class ApiServer {
  readonly store: ObjectStore;
  readonly faults = new FaultQueue();
  readonly settings: ApiServerSettings;
  /** Requests since the start, oldest first, at most the last 2,000. */
  readonly requests: RequestRecord[] = [];
  /** `events.k8s.io/v1` and `v1` Events that clients wrote; a patch replaces the fields it names. */
  readonly events: RecordedEvent[] = [];
  readonly listBodies = new ListBodyCache();
  /** Continue tokens of versions below this one have expired. */
  oldestContinue = 0;
  readonly #watches = new Set<WatchSession>();
  readonly #sockets = new Set<Socket>();
  readonly #host: string;
  #port: number;
  #tls: TlsIdentity | undefined;
  #server: Server | undefined;
  #holdNew: ResourceName | 'all' | undefined;

  constructor(options: ApiServerOptions = {}) {
    const { host = '127.0.0.1', port = 0, tls, store = new ObjectStore(), ...settings } = options;
    this.#host = host;
    this.#port = port;
    this.#tls = tls;
    this.store = store;
    this.settings = {
      tokens: undefined,
      protobuf: true,
      watchList: 'served',
      absent: [],
      denied: [],
      bookmarkIntervalMilliseconds: 60_000,
      lastBookmarkMilliseconds: 2000,
      futureVersionMilliseconds: 3000,
      defaultTimeoutMilliseconds: 1_800_000,
      version: 'v1.36.2',
      ...settings,
    };
  }

  get url(): string {
    const host = this.#host.includes(':') ? `[${this.#host}]` : this.#host;
    return `${this.#tls === undefined ? 'http' : 'https'}://${host}:${this.#port}`;
  }

  get watches(): ReadonlySet<WatchSession> {
    return this.#watches;
  }

  /** Opens the port. The port of the first call is kept for all later ones. */
  async listen(): Promise<void> {
    const handle = (request: IncomingMessage, response: ServerResponse) => {
      answerRequest(this, request, response).catch(() => response.destroy());
    };
    const server =
      this.#tls === undefined ? createServer(handle) : createTlsServer(tlsOptions(this.#tls), handle);
    server.keepAliveTimeout = 90_000;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => {});
    });
    server.on('tlsClientError', () => {});
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#port, this.#host, resolve);
    });
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Closes the port and breaks all connections, as a crash does. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const watch of this.#watches) watch.dispose();
    if (server === undefined) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Goes away for a while and comes back on the same port, with the same objects and history. */
  async restart(downMilliseconds = 0): Promise<void> {
    await this.close();
    if (downMilliseconds > 0) await new Promise((resolve) => setTimeout(resolve, downMilliseconds));
    await this.listen();
  }

  /** Uses another certificate for new connections, without closing the port. */
  setTls(tls: TlsIdentity): void {
    this.#tls = tls;
    const server = this.#server as (Server & { setSecureContext?: (options: object) => void }) | undefined;
    server?.setSecureContext?.(tlsOptions(tls));
  }

  /** Whether the client of a request may come in. */
  isAuthenticated(request: IncomingMessage): boolean {
    // The control port can only send null.
    const tokens = this.settings.tokens ?? undefined;
    if (this.#tls?.clientCa !== undefined && (request.socket as TLSSocket).authorized) return true;
    if (tokens === undefined) return this.#tls?.clientCa === undefined;
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    return token !== undefined && tokens.includes(token);
  }

  record(record: RequestRecord): void {
    this.requests.push(record);
    if (this.requests.length > requestLogLimit) this.requests.shift();
  }

  addWatch(watch: WatchSession): void {
    this.#watches.add(watch);
    if (this.#holdNew === 'all' || this.#holdNew === watch.resource.name) watch.hold();
  }

  removeWatch(watch: WatchSession): void {
    this.#watches.delete(watch);
  }

  /** Keeps all changes back from open and later watches until {@link releaseWatches}. */
  holdWatches(selection: WatchSelection = {}): void {
    this.#holdNew = selection.resource ?? 'all';
    for (const watch of this.#select(selection)) watch.hold();
  }

  releaseWatches(): void {
    this.#holdNew = undefined;
    for (const watch of this.#watches) watch.release();
  }

  /** Sends nothing more on the open watches, which stay open. Later watches work. */
  stallWatches(selection: WatchSelection = {}): void {
    for (const watch of this.#select(selection)) watch.stall();
  }

  cutWatches(
    selection: WatchSelection & { readonly how?: CutStyle; readonly midFrame?: boolean } = {},
  ): void {
    for (const watch of this.#select(selection))
      watch.cut(selection.how ?? 'close', selection.midFrame ?? false);
  }

  /** Completes the open watches in good order, as at their time-out. */
  endWatches(selection: WatchSelection = {}): void {
    for (const watch of this.#select(selection)) watch.end();
  }

  /** Sends bytes that are no frame on the open watches. */
  corruptWatches(bytes: Buffer, selection: WatchSelection = {}): void {
    for (const watch of this.#select(selection)) watch.sendRaw(bytes);
  }

  bookmarkWatches(selection: WatchSelection = {}): void {
    for (const watch of this.#select(selection)) watch.bookmark(false);
  }

  /**
   * Forgets the history: a later watch from any version handed out so far gets 410, and so do continue tokens. With
   * `openWatches` those end with an ERROR event of code 410 as well.
   */
  expireHistory({ openWatches = false }: { readonly openWatches?: boolean } = {}): void {
    const before = this.store.resourceVersion;
    this.store.expireHistory();
    this.expireContinueTokens();
    if (!openWatches) return;
    for (const watch of this.#select({})) watch.fail(tooOldVersion(before, this.store.resourceVersion));
  }

  expireContinueTokens(): void {
    this.oldestContinue = this.store.resourceVersion + 1;
  }

  /** Restores an old state (ObjectStore.rewind) the way it happens in life: the server goes down meanwhile. */
  async rewind(resourceVersion: number, downMilliseconds = 0): Promise<void> {
    await this.close();
    this.store.rewind(resourceVersion);
    // Versions are given a second time from here on.
    this.listBodies.clear();
    this.oldestContinue = Math.min(this.oldestContinue, resourceVersion);
    await this.restart(downMilliseconds);
  }

  #select({ resource }: WatchSelection): WatchSession[] {
    return [...this.#watches].filter((watch) => resource === undefined || watch.resource.name === resource);
  }
}

function tlsOptions(tls: TlsIdentity): object {
  const client =
    tls.clientCa === undefined ? {} : { ca: tls.clientCa, requestCert: true, rejectUnauthorized: false };
  return { cert: tls.certificate, key: tls.key, ...client };
}
