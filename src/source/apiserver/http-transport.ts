import type { Agent, IncomingMessage } from 'node:http';
import type { AgentOptions } from 'node:https';
import { http } from '../../base/node-http.ts';
import type { Credentials, TlsSettings } from './credentials.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Path and query, behind the server's own prefix. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** TCP keep-alive probes start after this idle time; the kernel then needs about ten seconds to give a dead peer up. */
const keepAliveMs = 30_000;

/**
 * HTTP/1.1 connections to the API server. They are kept and reused as long as the TLS settings stay the same; with new
 * ones (a rotated certificate) new connections are made and the old ones end with their last request.
 */
export class HttpTransport {
  readonly #env: NodeJS.ProcessEnv;
  #agent:
    | { readonly tls: TlsSettings; readonly proxyUrl: string | undefined; readonly agent: Agent }
    | undefined;

  /** `env` is searched for proxy settings (`HTTPS_PROXY`, `NO_PROXY`, …) where the credentials name none. */
  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
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
    this.#agent?.agent.destroy();
    this.#agent = undefined;
  }

  #send(request: HttpRequest, credentials: Credentials, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const url = new URL(`${credentials.server}${request.path}`);
      const headers: string[] = ['Host', url.host];
      for (const [name, value] of Object.entries(request.headers)) headers.push(name, value);
      for (const [name, value] of credentials.headers) headers.push(name, value);
      if (request.body !== undefined) headers.push('Content-Length', String(Buffer.byteLength(request.body)));
      const options = { method: request.method, headers, agent: this.#agentFor(credentials, url), signal };
      const outgoing = url.protocol === 'https:' ? https().request(url, options) : http.request(url, options);
      outgoing.on('response', resolve);
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        const isStale = outgoing.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
        reject(isStale && request.method === 'GET' ? new ConnectionReused() : error);
      });
      outgoing.end(request.body);
    });
  }

  #agentFor({ tls, proxyUrl }: Credentials, url: URL): Agent {
    if (this.#agent?.tls === tls && this.#agent.proxyUrl === proxyUrl) return this.#agent.agent;
    if (this.#agent !== undefined) retire(this.#agent.agent);
    const proxyEnv = proxyUrl === undefined ? this.#env : { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl };
    const options = { keepAlive: true, keepAliveMsecs: keepAliveMs, proxyEnv };
    const agent =
      url.protocol === 'https:'
        ? new (https().Agent)({ ...options, ...tlsOptions(tls) })
        : new http.Agent(options);
    this.#agent = { tls, proxyUrl, agent };
    return agent;
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
    options.servername = serverName;
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
