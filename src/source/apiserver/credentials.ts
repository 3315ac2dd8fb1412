import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { ClusterAccess, Material } from './cluster-access.ts';
import { type ExecCredential, ExecCredentials } from './exec-credentials.ts';
import { FileCache } from './file-cache.ts';
import { inClusterAccess, serviceAccountDirectory } from './in-cluster-access.ts';
import { type Kubeconfig, kubeconfigAccess } from './kubeconfig.ts';
import { readKubeconfig } from './read-kubeconfig.ts';

/** TLS settings. The same object is given as long as nothing in it changes, so that connections can be kept by it. */
export interface TlsSettings {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly serverName: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
}

/** Everything a request needs to be accepted, as of now. */
export interface Credentials {
  /** `https://host:port/prefix`. */
  readonly server: string;
  readonly proxyUrl: string | undefined;
  readonly tls: TlsSettings;
  /** `Authorization` and `Impersonate-…` headers; names may repeat. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface CredentialsOptions {
  /** Path of a kubeconfig, `''` for none. */
  readonly kubeconfig: string;
  /** Server that overrides the kubeconfig's, `''` for none. */
  readonly master: string;
  readonly serviceAccountDirectory?: string;
}

export interface CredentialsDependencies {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * The credentials for the API server, as clientConnection and `--master` select them (operations 3.1 step 5): the
 * in-cluster service account when both are empty. All files, the kubeconfig too, are looked at before each use and read
 * again when they changed.
 */
export class CredentialProvider {
  readonly #options: CredentialsOptions;
  readonly #dependencies: CredentialsDependencies;
  readonly #files: FileCache;
  #kubeconfigText: string | undefined;
  #access: ClusterAccess | undefined;
  #exec: ExecCredentials | undefined;
  #tls: TlsSettings | undefined;

  constructor(options: CredentialsOptions, dependencies: CredentialsDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#files = new FileCache(dependencies.logger);
  }

  /** Throws CredentialsError. */
  async current(): Promise<Credentials> {
    const access = await this.#currentAccess();
    const { user } = access;
    const issued = await this.#exec?.current();
    const token = issued?.token ?? (await this.#token(user.tokenFile, user.token));
    const headers = [...user.impersonation];
    if (token !== undefined) headers.unshift(['Authorization', `Bearer ${token}`]);
    else if (user.basic !== undefined) {
      const pair = Buffer.from(`${user.basic.username}:${user.basic.password}`).toString('base64');
      headers.unshift(['Authorization', `Basic ${pair}`]);
    }
    return {
      server: access.server,
      proxyUrl: access.proxyUrl,
      tls: await this.#currentTls(access, issued),
      headers,
    };
  }

  /** The server answered 401 to these: whatever is cached is looked at anew. */
  refused(credentials: Credentials): void {
    const authorization = credentials.headers.find(([name]) => name === 'Authorization')?.[1];
    this.#exec?.refused(authorization?.startsWith('Bearer ') ? authorization.slice(7) : undefined);
    this.#files.forget();
  }

  async #currentAccess(): Promise<ClusterAccess> {
    const { kubeconfig, master } = this.#options;
    if (kubeconfig === '') {
      this.#access ??= this.#withoutKubeconfig();
      return this.#access;
    }
    const text = await this.#files.read(kubeconfig, 'kubeconfig');
    if (this.#access !== undefined && text === this.#kubeconfigText) return this.#access;
    const isChange = this.#access !== undefined;
    this.#kubeconfigText = text;
    try {
      const config: Kubeconfig = { file: kubeconfig, document: await readKubeconfig(kubeconfig, text) };
      this.#use(kubeconfigAccess(config, master));
      if (isChange) this.#dependencies.logger.info('The kubeconfig has changed', { file: kubeconfig });
    } catch (error) {
      if (this.#access === undefined) throw error;
      this.#dependencies.logger.error(
        'The changed kubeconfig is not usable; the last one stays in use',
        error,
      );
    }
    return this.#access!;
  }

  #withoutKubeconfig(): ClusterAccess {
    const { master, serviceAccountDirectory: directory = serviceAccountDirectory } = this.#options;
    if (master === '') return inClusterAccess(this.#dependencies.env, directory);
    return kubeconfigAccess({ file: '--master', document: {} }, master);
  }

  #use(access: ClusterAccess): void {
    const { clock, env } = this.#dependencies;
    this.#access = access;
    this.#exec = access.user.exec && new ExecCredentials(access.user.exec, clock, env);
  }

  async #token(file: string | undefined, token: string | undefined): Promise<string | undefined> {
    if (file === undefined) return token;
    try {
      return (await this.#files.read(file, 'token file')).trim();
    } catch (error) {
      if (token !== undefined) return token;
      throw error;
    }
  }

  async #currentTls(access: ClusterAccess, issued: ExecCredential | undefined): Promise<TlsSettings> {
    const { user } = access;
    const tls: TlsSettings = {
      ca: await this.#pem(access.ca, 'certificate authority'),
      cert: issued?.clientCertificate ?? (await this.#pem(user.clientCertificate, 'client certificate')),
      key: issued?.clientKey ?? (await this.#pem(user.clientKey, 'client key')),
      serverName: access.tlsServerName,
      insecureSkipTlsVerify: access.insecureSkipTlsVerify,
    };
    if (this.#tls === undefined || !isSame(this.#tls, tls)) this.#tls = tls;
    return this.#tls;
  }

  async #pem(material: Material | undefined, use: string): Promise<string | undefined> {
    if (material === undefined) return undefined;
    return 'pem' in material ? material.pem : this.#files.read(material.file, use);
  }
}

function isSame(a: TlsSettings, b: TlsSettings): boolean {
  return (
    a.ca === b.ca &&
    a.cert === b.cert &&
    a.key === b.key &&
    a.serverName === b.serverName &&
    a.insecureSkipTlsVerify === b.insecureSkipTlsVerify
  );
}
