import { define, into } from './flag-definition.ts';
import {
  boolFlag,
  boolMapFlag,
  durationFlag,
  float32Flag,
  int32Flag,
  stringFlag,
  versionFlag,
} from './flag-type.ts';

const minute = 60_000;

/** Flags that say what to do, who this node is and where the API server is; our own; deprecated ones (operations 1.2). */
export const generalFlags = {
  config: define(
    stringFlag,
    '',
    'General',
    'Configuration file to read. Most other flags are then ignored.',
    { besideConfig: true },
  ),
  'write-config-to': define(
    stringFlag,
    '',
    'General',
    'Write the effective configuration to this file and exit.',
    { besideConfig: true },
  ),
  cleanup: define(boolFlag, false, 'General', 'Remove the rules of all modes and exit.', {
    besideConfig: true,
  }),
  'init-only': define(
    boolFlag,
    false,
    'General',
    'Do only the set-up that needs full root privileges, then exit. A later start needs just CAP_NET_ADMIN.',
    { besideConfig: true },
  ),
  version: define(
    versionFlag,
    'false',
    'General',
    'Print the version and exit; with =raw in detail. A value such as v1.36.2 changes the version that is reported instead.',
    { besideConfig: true },
  ),
  help: define(boolFlag, false, 'General', 'Print this text and exit.', {
    besideConfig: true,
    shorthand: 'h',
  }),
  'hostname-override': define(
    stringFlag,
    '',
    'General',
    'Name of the Node object of this machine. Without it the host name is used.',
    {
      besideConfig: true,
      field: 'hostnameOverride',
    },
  ),
  'feature-gates': define(
    boolMapFlag,
    {},
    'General',
    'Feature gates, as Name=true or Name=false. All gates of Kubernetes 1.36 are accepted.',
    {
      field: 'featureGates',
      set: into('featureGates'),
    },
  ),

  master: define(
    stringFlag,
    '',
    'API server',
    'URL of the API server; wins over the one in the kubeconfig.',
    { besideConfig: true },
  ),
  kubeconfig: define(
    stringFlag,
    '',
    'API server',
    'File with address and credentials of the API server. Without it and --master the in-cluster credentials are used.',
    {
      field: 'clientConnection.kubeconfig',
      set: into('clientConnection', 'kubeconfig'),
    },
  ),
  'kube-api-content-type': define(
    stringFlag,
    'application/vnd.kubernetes.protobuf',
    'API server',
    'Content type of requests to the API server.',
    {
      field: 'clientConnection.contentType',
      set: into('clientConnection', 'contentType'),
    },
  ),
  'kube-api-qps': define(
    float32Flag,
    5,
    'API server',
    'Requests per second to the API server. 0 means 5, a negative number means no limit.',
    {
      field: 'clientConnection.qps',
      set: into('clientConnection', 'qps'),
    },
  ),
  'kube-api-burst': define(int32Flag, 10, 'API server', 'Requests that may exceed the rate for a moment.', {
    field: 'clientConnection.burst',
    set: into('clientConnection', 'burst'),
  }),
  'config-sync-period': define(
    durationFlag,
    15 * minute,
    'API server',
    'How often unchanged API objects are delivered again.',
    {
      field: 'configSyncPeriod',
      set: into('configSyncPeriod'),
    },
  ),

  manifests: define(
    stringFlag,
    '',
    'Fairlead only (kube-proxy does not know these)',
    'Directory of YAML files with Services and EndpointSlices to serve instead of an API server.',
    {
      besideConfig: true,
      field: 'fairlead.manifests',
      set: into('fairlead', 'manifests'),
    },
  ),

  'healthz-port': define(
    int32Flag,
    10256,
    'Deprecated or without effect',
    'Port of the health check server where its address has none; 0 switches it off.',
    {
      deprecated: 'use --healthz-bind-address',
      field: 'healthzBindAddress',
    },
  ),
  'metrics-port': define(
    int32Flag,
    10249,
    'Deprecated or without effect',
    'Port of the metrics server where its address has none.',
    {
      deprecated: 'use --metrics-bind-address',
      field: 'metricsBindAddress',
    },
  ),
  'boot-id-file': define(
    stringFlag,
    '/proc/sys/kernel/random/boot_id',
    'Deprecated or without effect',
    'Accepted, without effect.',
    { besideConfig: true },
  ),
  'machine-id-file': define(
    stringFlag,
    '/etc/machine-id,/var/lib/dbus/machine-id',
    'Deprecated or without effect',
    'Accepted, without effect.',
    { besideConfig: true },
  ),
};
