export interface KubeconfigOptions {
  readonly server: string;
  /** PEM texts. */
  readonly authority?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly token?: string;
  readonly tokenFile?: string;
}

/** A kubeconfig for one server and one user, as JSON (which is YAML). */
export function kubeconfig(options: KubeconfigOptions): string {
  const { server, authority, clientCertificate, clientKey, token, tokenFile } = options;
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const cluster = {
    server,
    ...(authority === undefined ? {} : { 'certificate-authority-data': base64(authority) }),
  };
  const user = {
    ...(token === undefined ? {} : { token }),
    ...(tokenFile === undefined ? {} : { tokenFile }),
    ...(clientCertificate === undefined ? {} : { 'client-certificate-data': base64(clientCertificate) }),
    ...(clientKey === undefined ? {} : { 'client-key-data': base64(clientKey) }),
  };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'stand-in', cluster }],
    users: [{ name: 'proxy', user }],
    contexts: [{ name: 'default', context: { cluster: 'stand-in', user: 'proxy' } }],
    'current-context': 'default',
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
