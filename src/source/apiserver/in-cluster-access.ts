import { joinHostPort } from '../../base/ip.ts';
import { anonymous, type ClusterAccess } from './cluster-access.ts';
import { CredentialsError } from './credentials-error.ts';

/** Where the kubelet mounts the service account of a pod. */
export const serviceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Access by the service account of this pod (operations 3.1 step 5). The token and the CA are files that the kubelet
 * replaces. Throws CredentialsError CREDENTIALS_NOT_IN_CLUSTER.
 */
export function inClusterAccess(
  env: Readonly<Record<string, string | undefined>>,
  directory: string = serviceAccountDirectory,
): ClusterAccess {
  const host = required(env, 'KUBERNETES_SERVICE_HOST');
  const port = required(env, 'KUBERNETES_SERVICE_PORT');
  return {
    server: `https://${joinHostPort(host, Number(port))}`,
    ca: { file: `${directory}/ca.crt` },
    tlsServerName: undefined,
    insecureSkipTlsVerify: false,
    proxyUrl: undefined,
    user: { ...anonymous, tokenFile: `${directory}/token` },
  };
}

function required(env: Readonly<Record<string, string | undefined>>, name: string): string {
  const value = env[name];
  if (value !== undefined && value !== '') return value;
  throw new CredentialsError({ code: 'CREDENTIALS_NOT_IN_CLUSTER', missing: name });
}
