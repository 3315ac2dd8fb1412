import { dirname, resolve } from 'node:path';
import { DecodeError } from '../../kube/decode-error.ts';
import {
  arrayField,
  isJsonObject,
  type JsonObject,
  joinPath,
  mapObjects,
  objectField,
  optionalBool,
  optionalString,
  stringField,
  stringsField,
} from '../../kube/json/json-fields.ts';
import {
  anonymous,
  type ClusterAccess,
  type ExecPlugin,
  type Material,
  type UserAccess,
} from './cluster-access.ts';
import { CredentialsError } from './credentials-error.ts';

/** What is read from a kubeconfig; all else in it is left alone. */
export interface Kubeconfig {
  /** For messages, and as the directory that relative paths start from. */
  readonly file: string;
  readonly document: JsonObject;
}

/**
 * Access by the current context of a kubeconfig, as client-go resolves it; `master` overrides the server. Relative file
 * names start from the kubeconfig's directory. Throws CredentialsError CREDENTIALS_KUBECONFIG.
 */
export function kubeconfigAccess({ file, document }: Kubeconfig, master: string): ClusterAccess {
  const invalid = (problem: string, cause?: unknown) =>
    new CredentialsError({ code: 'CREDENTIALS_KUBECONFIG', file, problem }, { cause });
  try {
    const contextName = stringField(document, 'current-context', '');
    const context = contextName === '' ? {} : named(document, 'contexts', contextName, 'context');
    if (context === undefined)
      throw invalid(`the current context ${JSON.stringify(contextName)} does not exist`);
    const clusterName = stringField(context, 'cluster', 'context');
    const userName = stringField(context, 'user', 'context');
    const cluster = clusterName === '' ? {} : named(document, 'clusters', clusterName, 'cluster');
    if (cluster === undefined && master === '')
      throw invalid(`cluster ${JSON.stringify(clusterName)} does not exist`);
    const user = userName === '' ? {} : named(document, 'users', userName, 'user');
    if (user === undefined) throw invalid(`user ${JSON.stringify(userName)} does not exist`);
    const access = clusterAccess(cluster ?? {}, master, dirname(file));
    if (access.server === '') throw invalid('no server is given: neither a current context nor --master');
    const withUser = { ...access, user: userAccess(user, cluster ?? {}, dirname(file)) };
    return { ...withUser, server: serverUrl(withUser, invalid) };
  } catch (error) {
    if (!(error instanceof DecodeError || error instanceof UnusableEntry)) throw error;
    throw invalid(error.message, error.cause);
  }
}

/** A value that is of the right type but cannot be used. */
class UnusableEntry extends Error {}

function named(document: JsonObject, list: string, name: string, content: string): JsonObject | undefined {
  for (const [i, entry] of arrayField(document, list, '').entries()) {
    if (isJsonObject(entry) && entry['name'] === name) return objectField(entry, content, `${list}[${i}]`);
  }
  return undefined;
}

function clusterAccess(cluster: JsonObject, master: string, directory: string): ClusterAccess {
  const text = (name: string) => optionalString(cluster, name, 'cluster') || undefined;
  const ca = material(cluster, 'certificate-authority', 'cluster', directory);
  const insecureSkipTlsVerify = optionalBool(cluster, 'insecure-skip-tls-verify', 'cluster') ?? false;
  if (insecureSkipTlsVerify && ca !== undefined) {
    throw new UnusableEntry(
      'cluster.insecure-skip-tls-verify: cannot be combined with a certificate authority',
    );
  }
  const proxyUrl = text('proxy-url');
  if (proxyUrl !== undefined && !/^https?:\/\//.test(proxyUrl)) {
    throw new UnusableEntry('cluster.proxy-url: only http and https proxies are supported');
  }
  return {
    server: master || stringField(cluster, 'server', 'cluster'),
    ca,
    tlsServerName: text('tls-server-name'),
    insecureSkipTlsVerify,
    proxyUrl,
    user: anonymous,
  };
}

function userAccess(user: JsonObject, cluster: JsonObject, directory: string): UserAccess {
  const text = (name: string) => optionalString(user, name, 'user') || undefined;
  if (user['auth-provider'] !== undefined && user['auth-provider'] !== null) {
    throw new UnusableEntry('user.auth-provider: not supported, as in kube-proxy; use exec');
  }
  const clientCertificate = material(user, 'client-certificate', 'user', directory);
  const clientKey = material(user, 'client-key', 'user', directory);
  if ((clientCertificate === undefined) !== (clientKey === undefined)) {
    throw new UnusableEntry('user: client-certificate and client-key go together');
  }
  const tokenFile = text('tokenFile');
  const username = text('username');
  const token = text('token');
  const hasExec = user['exec'] !== undefined && user['exec'] !== null;
  if (username !== undefined && (token !== undefined || tokenFile !== undefined)) {
    throw new UnusableEntry('user: a token and a user name exclude each other');
  }
  return {
    clientCertificate,
    clientKey,
    token,
    tokenFile: tokenFile === undefined ? undefined : resolve(directory, tokenFile),
    basic: username === undefined ? undefined : { username, password: text('password') ?? '' },
    exec: hasExec ? execPlugin(objectField(user, 'exec', 'user'), cluster, directory) : undefined,
    impersonation: impersonation(user),
  };
}

function impersonation(user: JsonObject): readonly (readonly [string, string])[] {
  const as = stringField(user, 'as', 'user');
  const uid = stringField(user, 'as-uid', 'user');
  const groups = stringsField(user, 'as-groups', 'user');
  const extra = objectField(user, 'as-user-extra', 'user');
  const extraHeaders = Object.keys(extra).flatMap((key) =>
    stringsField(extra, key, 'user.as-user-extra').map(
      (value) => [`Impersonate-Extra-${encodeURIComponent(key)}`, value] as const,
    ),
  );
  if (as === '' && (uid !== '' || groups.length > 0 || extraHeaders.length > 0)) {
    throw new UnusableEntry('user.as: is needed to impersonate a uid, groups or extra fields');
  }
  return [
    ...(as === '' ? [] : [['Impersonate-User', as] as const]),
    ...(uid === '' ? [] : [['Impersonate-Uid', uid] as const]),
    ...groups.map((group) => ['Impersonate-Group', group] as const),
    ...extraHeaders,
  ];
}

function execPlugin(exec: JsonObject, cluster: JsonObject, directory: string): ExecPlugin {
  const path = 'user.exec';
  const apiVersion = stringField(exec, 'apiVersion', path);
  if (
    apiVersion !== 'client.authentication.k8s.io/v1' &&
    apiVersion !== 'client.authentication.k8s.io/v1beta1'
  ) {
    throw new UnusableEntry(`${path}.apiVersion: ${JSON.stringify(apiVersion)} is not supported`);
  }
  const interactiveMode = stringField(exec, 'interactiveMode', path);
  if (interactiveMode === 'Always') throw new UnusableEntry(`${path}.interactiveMode: there is no terminal`);
  if (interactiveMode === '' && apiVersion.endsWith('/v1')) {
    throw new UnusableEntry(`${path}.interactiveMode: is required`);
  }
  const command = stringField(exec, 'command', path);
  if (command === '') throw new UnusableEntry(`${path}.command: is required`);
  return {
    apiVersion,
    command: command.includes('/') ? resolve(directory, command) : command,
    args: stringsField(exec, 'args', path),
    env: mapObjects(exec, 'env', path, (entry, entryPath) => [
      stringField(entry, 'name', entryPath),
      stringField(entry, 'value', entryPath),
    ]),
    installHint: stringField(exec, 'installHint', path),
    cluster: optionalBool(exec, 'provideClusterInfo', path) ? execCluster(cluster) : undefined,
  };
}

/** `spec.cluster` of an ExecCredential: what the plugin is told about the cluster. */
function execCluster(cluster: JsonObject): object {
  const copied = [
    'server',
    'tls-server-name',
    'insecure-skip-tls-verify',
    'certificate-authority-data',
    'proxy-url',
  ];
  const info: Record<string, unknown> = {};
  for (const name of copied) if (cluster[name] !== undefined) info[name] = cluster[name];
  for (const extension of arrayField(cluster, 'extensions', 'cluster')) {
    if (isJsonObject(extension) && extension['name'] === 'client.authentication.k8s.io/exec') {
      info['config'] = extension['extension'];
    }
  }
  return info;
}

/** PEM from `<name>-data`, which wins, or from the file `<name>`. */
function material(json: JsonObject, name: string, path: string, directory: string): Material | undefined {
  const data = stringField(json, `${name}-data`, path);
  if (data !== '') return { pem: pemOf(data, joinPath(path, `${name}-data`)) };
  const file = stringField(json, name, path);
  return file === '' ? undefined : { file: resolve(directory, file) };
}

function pemOf(base64: string, path: string): string {
  const pem = Buffer.from(base64, 'base64').toString('latin1');
  if (!pem.includes('-----BEGIN')) throw new UnusableEntry(`${path}: is not base64 of a PEM file`);
  return pem;
}

/** Completes `host:port` to a URL: https where TLS settings or a client certificate are given, http otherwise. */
function serverUrl(access: ClusterAccess, invalid: (problem: string) => Error): string {
  const { server, ca, insecureSkipTlsVerify, user } = access;
  const isTls = ca !== undefined || insecureSkipTlsVerify || user.clientCertificate !== undefined;
  const text = /^https?:\/\//.test(server) ? server : `${isTls ? 'https' : 'http'}://${server}`;
  const url = URL.parse(text);
  if (url === null) throw invalid(`the server ${JSON.stringify(server)} is no URL`);
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}
