// Settings are made on a kernel that has loaded no module yet, as on a node that has just started. Guest only: it
// changes the settings of the namespace it runs in.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const loaded = (): boolean => /^nf_conntrack /m.test(readFileSync('/proc/modules', 'utf8'));
const config = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: 10.244.0.0/16
conntrack: { maxPerCore: 0, tcpEstablishedTimeout: 12345s }
`;

if (loaded()) throw new Error('connection tracking is loaded already: run this first, in a guest');
const file = join(process.env['TMPDIR'] ?? '/tmp', 'fresh-kernel.yaml');
writeFileSync(file, config);
const argv = [
  '--init-only',
  '--config',
  file,
  '--manifests',
  'examples/shop',
  '--hostname-override',
  'node1',
];
execFileSync('bin/fairlead', argv, { stdio: 'inherit' });
const path = '/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established';
const seconds = readFileSync(path, 'utf8').trim();
if (seconds !== '12345') throw new Error(`${path} is ${seconds}, not 12345`);
