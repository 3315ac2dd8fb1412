/** Where an API server is and how to prove who we are, as a kubeconfig or the in-cluster convention states it. */
export interface ClusterAccess {
  /** `https://host:port/prefix`, without a slash at the end. */
  readonly server: string;
  readonly ca: Material | undefined;
  /** Name that the server's certificate must bear in place of the host in `server`. */
  readonly tlsServerName: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
  /** `http:` or `https:` proxy in place of the ones that the environment names. */
  readonly proxyUrl: string | undefined;
  readonly user: UserAccess;
}

export interface UserAccess {
  readonly clientCertificate: Material | undefined;
  readonly clientKey: Material | undefined;
  /** A token file wins over a token while it can be read. */
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  readonly basic: { readonly username: string; readonly password: string } | undefined;
  readonly exec: ExecPlugin | undefined;
  /** Headers `Impersonate-…`, in order. */
  readonly impersonation: readonly (readonly [name: string, value: string])[];
}

/** PEM text that is given in place or stands in a file, which is read anew when it changes. */
export type Material = { readonly pem: string } | { readonly file: string };

/** A program that hands out credentials: `users[].user.exec` (client.authentication.k8s.io). */
export interface ExecPlugin {
  readonly apiVersion: 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1';
  /** A path, or a name looked up in `PATH`. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly (readonly [name: string, value: string])[];
  readonly installHint: string;
  /** What `spec.cluster` of KUBERNETES_EXEC_INFO holds, where the plugin asks for it. */
  readonly cluster: object | undefined;
}

export const anonymous: UserAccess = {
  clientCertificate: undefined,
  clientKey: undefined,
  token: undefined,
  tokenFile: undefined,
  basic: undefined,
  exec: undefined,
  impersonation: [],
};
