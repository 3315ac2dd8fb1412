import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Certificate, makeAuthority, makeCertificate } from '../../cluster/certificate.ts';
import { containerMounts, KUBEADM_CONFIG, kubeadmKubeconfig, writeVolume } from './kubeadm.ts';
import { NodeBed } from './node-bed.ts';
import { service, slice } from './objects.ts';
import type { ProxyProcess } from './proxy-process.ts';
import { shop, WEB, WEB_NODE_PORT } from './shop.ts';
import { delay, waitUntil } from './wait-until.ts';

let bed: NodeBed;
let authority: Certificate;
let account: string;
let config: string;

beforeAll(async () => {
  authority = makeAuthority('kubernetes');
  bed = await NodeBed.create();
});
afterAll(() => bed.close());
beforeEach(async () => {
  await bed.reset();
  const tls = makeCertificate(authority, 'kube-apiserver', ['127.0.0.1', 'kubernetes']);
  await bed.api.renew({ tls, tokens: ['first'] });
  await bed.api.apply(...shop());
  const run = `run-${Date.now()}`;
  account = join(bed.directory, run, 'serviceaccount');
  config = join(bed.directory, run, 'config');
  writeVolume(account, { token: 'first', 'ca.crt': authority.certificate, namespace: 'kube-system' });
  writeVolume(config, { 'config.conf': KUBEADM_CONFIG, 'kubeconfig.conf': kubeadmKubeconfig(bed.api.url) });
});

/** As the DaemonSet of kubeadm starts it. */
function startAsKubeadm(): ProxyProcess {
  return bed.startRaw(['--config=/var/lib/kube-proxy/config.conf', '--hostname-override=node1'], {
    program: '/usr/local/bin/kube-proxy',
    prepare: containerMounts({ config, serviceAccount: account }),
  });
}

describe("kubeadm's DaemonSet", () => {
  test('serves with what kubeadm writes, in iptables mode, over TLS with the token', async () => {
    const proxy = startAsKubeadm();
    await bed.answersSoon(proxy, `${WEB}:80`);
    await bed.answersSoon(proxy, `172.31.0.11:${WEB_NODE_PORT}`);
    expect((await bed.page(10249, '/proxyMode'))?.body).toBe('iptables');
    expect(await bed.page(10256, '/healthz')).toMatchObject({ status: 200 });
    expect(proxy.lines(/^[EF]/)).toEqual([]);
    // The size of the conntrack table is the host's: not settable from here, and no reason to end.
    const expected = /nf_conntrack|nodePortAddresses is not set/;
    expect(proxy.lines(/^W/).filter((line) => !expected.test(line))).toEqual([]);
    const refused = proxy.lines(/^W.*nf_conntrack/).length > 0 ? ['KernelSettingsRefused'] : [];
    const accepts = new Set((await bed.api.requests()).map(({ verb, accept }) => `${verb} ${accept}`));
    expect([...accepts].filter((each) => each.startsWith('watch')).join()).toContain('protobuf');
    expect((await bed.api.events()).map(({ reason }) => reason)).toEqual([...refused, 'Starting']);
    expect((await proxy.end()).code).toBe(0);
  });

  test('a rotated token and CA are taken over while it runs', async () => {
    const proxy = startAsKubeadm();
    await bed.answersSoon(proxy, `${WEB}:80`);
    // The kubelet replaces the token; the server forgets the old one and breaks the connections.
    writeVolume(account, { token: 'second', 'ca.crt': authority.certificate, namespace: 'kube-system' });
    await bed.api.control('POST /settings', { tokens: ['second'] });
    await bed.api.control('POST /watches/cut', { how: 'close' });
    await bed.api.apply(service('rotated', '10.96.0.50'), slice('rotated', ['10.244.1.3']));
    await bed.answersSoon(proxy, '10.96.0.50:80');

    // A new authority: for a while the kubelet writes both, then the server gets a certificate of the new one.
    const next = makeAuthority('kubernetes-2');
    writeVolume(account, { token: 'second', 'ca.crt': authority.certificate + next.certificate });
    await bed.api.setTls(makeCertificate(next, 'kube-apiserver', ['127.0.0.1']));
    await bed.api.control('POST /watches/cut', { how: 'close' });
    await bed.api.apply(service('rotated-2', '10.96.0.51'), slice('rotated-2', ['10.244.1.3']));
    await bed.answersSoon(proxy, '10.96.0.51:80', 20_000);
    expect(await bed.answers(`${WEB}:80`)).toBe(true);
    expect(proxy.log).not.toMatch(/first|second/);
  });

  test('a token that is refused keeps the rules, names the cause, and a good one is found', async () => {
    const proxy = startAsKubeadm();
    await bed.answersSoon(proxy, `${WEB}:80`);
    await bed.api.control('POST /settings', { tokens: ['second'] });
    await bed.api.control('POST /watches/cut', { how: 'close' });
    await bed.api.apply(service('later', '10.96.0.52'), slice('later', ['10.244.1.3']));
    const isNamed = () => proxy.lines(/^W.*does not accept our credentials \(401\)/).length > 0;
    await waitUntil('the cause is logged', isNamed, 30_000);
    expect(await bed.answers(`${WEB}:80`)).toBe(true);
    expect(await bed.answers('10.96.0.52:80')).toBe(false);
    writeVolume(account, { token: 'second', 'ca.crt': authority.certificate });
    await bed.answersSoon(proxy, '10.96.0.52:80', 35_000);
  });

  test('an updated ConfigMap changes nothing; a restart takes it', async () => {
    const first = startAsKubeadm();
    await bed.answersSoon(first, `${WEB}:80`);
    const text = KUBEADM_CONFIG.replace('mode: ""', 'mode: nftables');
    writeVolume(config, { 'config.conf': text, 'kubeconfig.conf': kubeadmKubeconfig(bed.api.url) });
    await delay(1000);
    expect(first.exit).toBeUndefined();
    await first.end();
    const second = startAsKubeadm();
    await bed.synced(second);
    expect((await bed.page(10249, '/proxyMode'))?.body).toBe('nftables');
    expect(await bed.answers(`${WEB}:80`)).toBe(true);
  });
});

test('without a kubeconfig the service account of the pod is used', async () => {
  const { port } = new URL(bed.api.url);
  const proxy = bed.startRaw(['--proxy-mode=nftables', '--hostname-override=node1'], {
    env: { ...process.env, KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: port },
    program: '/usr/local/bin/kube-proxy',
    prepare: containerMounts({ config, serviceAccount: account }),
  });
  await bed.answersSoon(proxy, `${WEB}:80`);
  expect(proxy.lines(/^[EF]/)).toEqual([]);
});

test('a server certificate of another authority is refused, and the log says why', async () => {
  const other = makeAuthority('somebody');
  writeVolume(account, { token: 'first', 'ca.crt': other.certificate });
  const proxy = startAsKubeadm();
  await waitUntil(
    'the cause is logged',
    () => proxy.lines(/^W.*(certificate|signature|issuer)/i).length > 0,
    30_000,
  );
  expect(proxy.exit).toBeUndefined();
  expect(await bed.answers(`${WEB}:80`)).toBe(false);
});
