import { spawn } from 'node:child_process';
import type { Clock } from '../../base/clock.ts';
import { DecodeError } from '../../kube/decode-error.ts';
import { objectField, optionalString, optionalTime, stringField } from '../../kube/json/json-fields.ts';
import { parseJsonObject } from '../../kube/json/parse-json-object.ts';
import type { ExecPlugin } from './cluster-access.ts';
import { CredentialsError } from './credentials-error.ts';

/** What a credential plugin handed out: a token, a client certificate with its key, or both. */
export interface ExecCredential {
  readonly token: string | undefined;
  readonly clientCertificate: string | undefined;
  readonly clientKey: string | undefined;
  /** Milliseconds since the epoch; undefined is good until the server refuses it. */
  readonly expires: number | undefined;
}

const timeoutMs = 60_000;
const maxOutputBytes = 1024 * 1024;
/** What a plugin has left running may hold its output open; what it wrote itself is there by then. */
const outputAfterExitMs = 1000;

/** Runs a credential plugin when it is needed and keeps what it hands out until that expires or is refused. */
export class ExecCredentials {
  readonly #plugin: ExecPlugin;
  readonly #clock: Clock;
  readonly #env: NodeJS.ProcessEnv;
  #credential: ExecCredential | undefined;
  #running: Promise<ExecCredential> | undefined;

  constructor(plugin: ExecPlugin, clock: Clock, env: NodeJS.ProcessEnv) {
    this.#plugin = plugin;
    this.#clock = clock;
    this.#env = env;
  }

  /** Throws CredentialsError CREDENTIALS_EXEC_FAILED. Callers at the same time share one run. */
  async current(): Promise<ExecCredential> {
    const known = this.#credential;
    if (known !== undefined && (known.expires === undefined || known.expires > this.#clock.now()))
      return known;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    this.#credential = await this.#running;
    return this.#credential;
  }

  /** The server refused a token or certificate; the plugin runs again unless a newer one is at hand. */
  refused(token: string | undefined): void {
    if (this.#credential?.token === token) this.#credential = undefined;
  }

  async #run(): Promise<ExecCredential> {
    const { apiVersion, command, cluster } = this.#plugin;
    const info = {
      apiVersion,
      kind: 'ExecCredential',
      spec: { interactive: false, ...(cluster && { cluster }) },
    };
    const env = {
      ...this.#env,
      ...Object.fromEntries(this.#plugin.env),
      KUBERNETES_EXEC_INFO: JSON.stringify(info),
    };
    const output = await runPlugin(this.#plugin, env);
    try {
      return parseExecCredential(apiVersion, output);
    } catch (cause) {
      if (!(cause instanceof DecodeError)) throw cause;
      throw new CredentialsError(
        { code: 'CREDENTIALS_EXEC_FAILED', command, problem: cause.message },
        { cause },
      );
    }
  }
}

/** Reads an ExecCredential. Throws DecodeError. */
function parseExecCredential(apiVersion: string, text: string): ExecCredential {
  const json = parseJsonObject(text);
  const got = `${stringField(json, 'apiVersion', '')} ${stringField(json, 'kind', '')}`;
  const expected = `${apiVersion} ExecCredential`;
  if (got !== expected) throw new DecodeError({ code: 'DECODE_UNEXPECTED_KIND', expected, got });
  const status = objectField(json, 'status', '');
  const value = (name: string) => optionalString(status, name, 'status') || undefined;
  const credential = {
    token: value('token'),
    clientCertificate: value('clientCertificateData'),
    clientKey: value('clientKeyData'),
    expires: optionalTime(status, 'expirationTimestamp', 'status'),
  };
  const isPaired = (credential.clientCertificate === undefined) === (credential.clientKey === undefined);
  if (!isPaired || (credential.token === undefined && credential.clientKey === undefined)) {
    throw new DecodeError({
      code: 'DECODE_JSON_TYPE',
      path: 'status',
      expected: 'a token, or clientCertificateData with clientKeyData',
    });
  }
  return credential;
}

function runPlugin(plugin: ExecPlugin, env: NodeJS.ProcessEnv): Promise<string> {
  const { command, args, installHint } = plugin;
  return new Promise((resolve, reject) => {
    const fail = (problem: string, cause?: unknown) =>
      reject(new CredentialsError({ code: 'CREDENTIALS_EXEC_FAILED', command, problem }, { cause }));
    // What the plugin says on stderr goes to our own: it is meant for the operator.
    const child = spawn(command, args, {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    const output: Buffer[] = [];
    let bytes = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxOutputBytes) output.push(chunk);
      else child.kill('SIGKILL');
    });
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') fail(`not found${installHint === '' ? '' : `. ${installHint}`}`, error);
      else fail('cannot be run', error);
    });
    child.on('exit', () => {
      const timer = setTimeout(() => child.stdout.destroy(), outputAfterExitMs);
      child.on('close', () => clearTimeout(timer));
    });
    child.on('close', (code, signal) => {
      if (code === 0) resolve(Buffer.concat(output).toString('utf8'));
      else fail(code === null ? `ended by ${signal}` : `exit status ${code}`);
    });
  });
}
