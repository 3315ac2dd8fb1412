import type { Agent, IncomingMessage } from 'node:http';
import type { AgentOptions } from 'node:https';
import { parseIp } from '../../base/ip.ts';
import { http } from '../../base/node-http.ts';
import type { Credentials, TlsSettings } from './credentials.ts';
import { environmentProxy } from './environment-proxy.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Path and query, behind the server's own prefix. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** When the kernel gives up a connection on which nothing arrives. Milliseconds, used as whole seconds. */
export interface KeepAlive {
  /** Silence before the first probe. */
  readonly initialDelay: number;
  /** Between two probes, and after the last one. */
  readonly interval: number;
  /** Probes without an answer that end the connection. */
  readonly count: number;
}

/**
 * A peer whose packets do not arrive is found out after 35 s: client-go pings over HTTP/2 and takes 45 s. Four probes in
 * a row have to be lost, so that a short outage costs no connection.
 */
export const defaultKeepAlive: KeepAlive = { initialDelay: 15_000, interval: 5_000, count: 4 };

/** How long a proxy may take to open the tunnel to the server. */
const tunnelTimeoutMs = 30_000;

/** Everything that a connection depends on. */
interface Pool {
  readonly tls: TlsSettings;
  readonly protocol: string;
  readonly proxyUrl: string | undefined;
  readonly agent: Agent;
}

/**
 * HTTP/1.1 connections to the API server. They are kept and reused as long as the TLS settings stay the same; with new
 * ones (a rotated certificate) new connections are made and the old ones end with their last request.
 */
export class HttpTransport {
  readonly #env: NodeJS.ProcessEnv;
  readonly #keepAlive: KeepAlive;
  #pool: Pool | undefined;

  /** `env` is searched for proxy settings (`HTTPS_PROXY`, `NO_PROXY`, …) where the credentials name none. */
  constructor(env: NodeJS.ProcessEnv, keepAlive: KeepAlive = defaultKeepAlive) {
    this.#env = env;
    this.#keepAlive = keepAlive;
  }

  /**
   * Sends a request; resolves when the answer's head is there, whatever its status. The body must be read or destroyed.
   * Rejects with Node's own errors. A request that met a kept connection just as the server closed it is sent again.
   */
  async send(request: HttpRequest, credentials: Credentials, signal: AbortSignal): Promise<IncomingMessage> {
    try {
      return await this.#send(request, credentials, signal);
    } catch (error) {
      if (!(error instanceof ConnectionReused)) throw error;
      return await this.#send(request, credentials, signal);
    }
  }

  /** Cuts all connections, those in use as well. */
  close(): void {
    this.#pool?.agent.destroy();
    this.#pool = undefined;
  }

  #send(request: HttpRequest, credentials: Credentials, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const url = new URL(`${credentials.server}${request.path}`);
      const headers: string[] = ['Host', url.host];
      for (const [name, value] of Object.entries(request.headers)) headers.push(name, value);
      for (const [name, value] of credentials.headers) headers.push(name, value);
      if (request.body !== undefined) headers.push('Content-Length', String(Buffer.byteLength(request.body)));
      const { agent, proxyUrl } = this.#poolFor(credentials, url);
      const isTunnelled = url.protocol === 'https:' && proxyUrl !== undefined;
      const options = {
        method: request.method,
        headers,
        agent,
        signal,
        // Node ends a tunnel that is not yet open by this alone, not by the signal. Later on it means nothing.
        ...(isTunnelled && { timeout: tunnelTimeoutMs }),
      };
      const outgoing = url.protocol === 'https:' ? https().request(url, options) : http.request(url, options);
      const abort = () => reject(signal.reason);
      signal.addEventListener('abort', abort);
      // With each request anew: Node sets its own times on a connection that goes back to the agent, and none on one
      // through a tunnel.
      outgoing.on('socket', (socket) => socket.setKeepAlive({ enable: true, ...this.#keepAlive }));
      outgoing.on('response', (message) => {
        signal.removeEventListener('abort', abort);
        resolve(message);
      });
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        signal.removeEventListener('abort', abort);
        const isStale = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
        reject(isStale && request.method === 'GET' ? new ConnectionReused() : error);
      });
      outgoing.end(request.body);
    });
  }

  #poolFor(credentials: Credentials, url: URL): Pool {
    const { tls } = credentials;
    const { protocol } = url;
    const proxyUrl = credentials.proxyUrl ?? environmentProxy(url, this.#env);
    const known = this.#pool;
    if (known?.tls === tls && known.protocol === protocol && known.proxyUrl === proxyUrl) return known;
    if (proxyUrl !== undefined && !/^https?:/i.test(proxyUrl)) {
      throw new Error(`the proxy ${new URL(proxyUrl).protocol} is not supported`);
    }
    const options = {
      keepAlive: true,
      keepAliveMsecs: this.#keepAlive.initialDelay,
      proxyEnv: proxyUrl === undefined ? {} : { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl },
    };
    const agent =
      protocol === 'https:'
        ? new (https().Agent)({ ...options, ...tlsOptions(tls) })
        : new http.Agent(options);
    if (known !== undefined) retire(known.agent);
    this.#pool = { tls, protocol, proxyUrl, agent };
    return this.#pool;
  }
}

/** Loaded with the first https server: OpenSSL takes 8 MB. */
function https(): typeof import('node:https') {
  return process.getBuiltinModule('node:https');
}

class ConnectionReused extends Error {}

/** Ends the connections that are idle now, and each other one when its request ends. */
function retire(agent: Agent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets))
    for (const socket of sockets ?? []) socket.destroy();
}

function tlsOptions(tls: TlsSettings): AgentOptions {
  const { ca, cert, key, serverName, insecureSkipTlsVerify } = tls;
  const options: AgentOptions = { minVersion: 'TLSv1.2', rejectUnauthorized: !insecureSkipTlsVerify };
  // Like Go's, our own roots are the system's.
  if (ca !== undefined) options.ca = ca;
  else if (!insecureSkipTlsVerify) options.ca = systemRoots();
  if (cert !== undefined) options.cert = cert;
  if (key !== undefined) options.key = key;
  if (serverName !== undefined) {
    // An address is never sent as the name (RFC 6066), only looked for in the certificate.
    options.servername = parseIp(serverName) === undefined ? serverName : '';
    const { checkServerIdentity } = process.getBuiltinModule('node:tls');
    options.checkServerIdentity = (_host, certificate) => checkServerIdentity(serverName, certificate);
  }
  return options;
}

function systemRoots(): string[] {
  const { getCACertificates } = process.getBuiltinModule('node:tls');
  const system = getCACertificates('system');
  return system.length > 0 ? system : getCACertificates('default');
}
