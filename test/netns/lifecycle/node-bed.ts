import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { kubeconfig } from '../../cluster/kubeconfig.ts';
import { cleanNode } from '../replay/clean-node.ts';
import { pathWithIptables } from '../replay/fairlead-process.ts';
import type { RequestOutcome } from '../testbed/agent-protocol.ts';
import { type SourceProbe, Testbed } from '../testbed/testbed.ts';
import { ApiServerProcess, type TestObject } from './api-server-process.ts';
import { nodeTopology } from './node-topology.ts';
import { ProxyProcess, type ProxyProcessOptions } from './proxy-process.ts';
import type { FlowSpec } from './traffic.ts';
import { TrafficClient } from './traffic-client.ts';
import { waitUntil } from './wait-until.ts';

export type Mode = 'nftables' | 'iptables';

/** A node with pods and a client, an API server on it, and the proxies that a test starts. */
export class NodeBed {
  readonly testbed: Testbed;
  readonly directory: string;
  readonly api: ApiServerProcess;
  readonly #proxies = new Set<ProxyProcess>();

  private constructor(testbed: Testbed, api: ApiServerProcess, directory: string) {
    this.testbed = testbed;
    this.api = api;
    this.directory = directory;
  }

  static async create(): Promise<NodeBed> {
    const testbed = await Testbed.create(nodeTopology);
    try {
      const api = await ApiServerProcess.start(testbed.fullName('node1'));
      return new NodeBed(testbed, api, mkdtempSync(join(tmpdir(), 'fairlead-lifecycle-')));
    } catch (error) {
      await testbed.close();
      throw error;
    }
  }

  /** Full name of the node's namespace. */
  get node(): string {
    return this.testbed.fullName('node1');
  }

  /** Kills all proxies that still run. */
  async endProxies(): Promise<void> {
    await Promise.all([...this.#proxies].map((proxy) => proxy.end('SIGKILL')));
    this.#proxies.clear();
  }

  /** Ends the proxies, empties the API server and cleans the node, for the next test. */
  async reset(): Promise<void> {
    await this.endProxies();
    await this.api.renew();
    await cleanNode(this.testbed);
  }

  async close(): Promise<void> {
    await this.endProxies();
    await this.api.stop();
    await this.testbed.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Starts the program with a configuration for this API server, and more flags. */
  start(
    mode: string,
    options: ProxyProcessOptions & {
      readonly config?: Readonly<Record<string, unknown>>;
      readonly flags?: readonly string[];
      /** Arguments before the others. */
      readonly before?: readonly string[];
      /** Objects come from this directory and not from the API server. */
      readonly manifests?: string;
    } = {},
  ): ProxyProcess {
    const { config, flags = [], before = [], manifests, ...process } = options;
    const kubeconfigFile = this.file('kubeconfig', kubeconfig({ server: this.api.url }));
    const configFile = this.file(
      'config.yaml',
      stringify({
        apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
        kind: 'KubeProxyConfiguration',
        mode,
        hostnameOverride: 'node1',
        clientConnection: { kubeconfig: kubeconfigFile },
        clusterCIDR: '10.244.0.0/16,fd00:244::/32',
        conntrack: { maxPerCore: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
        iptables: { minSyncPeriod: '10ms' },
        nftables: { minSyncPeriod: '10ms' },
        ...config,
      }),
    );
    const source = manifests === undefined ? [] : ['--manifests', manifests];
    return this.startRaw([...before, '--config', configFile, ...source, ...flags], process);
  }

  /** Stands for /run/xtables.lock. */
  get lockFile(): string {
    return join(this.directory, 'xtables.lock');
  }

  /** An environment in which `iptables` and its siblings are those of one back-end. */
  environment(backend: 'nft' | 'legacy'): NodeJS.ProcessEnv {
    const directory = join(this.directory, `bin-${backend}`);
    mkdirSync(directory, { recursive: true });
    return {
      ...process.env,
      PATH: pathWithIptables(directory, backend),
      // Other tests on this machine must not make the programs of this one wait.
      XTABLES_LOCKFILE: this.lockFile,
    };
  }

  /** Starts the program with exactly these arguments. */
  startRaw(argv: readonly string[], options: ProxyProcessOptions = {}): ProxyProcess {
    const proxy = ProxyProcess.start(this.node, argv, options);
    this.#proxies.add(proxy);
    return proxy;
  }

  /** Writes a file into the temporary directory and returns its path. Each has an inode of its own. */
  file(name: string, text: string): string {
    const path = join(this.directory, name);
    rmSync(path, { force: true });
    writeFileSync(path, text);
    return path;
  }

  /** Runs a program on the node. Resolves to its stdout, rejects when it does not end with 0. */
  run(argv: readonly string[], input = ''): Promise<string> {
    return this.testbed.run('node1', argv, input);
  }

  /** One request. */
  async probe(probe: SourceProbe): Promise<RequestOutcome> {
    const [outcome] = await this.testbed.probe(probe);
    return outcome!;
  }

  /** Whether one request from the client is answered by a server. */
  async answers(to: string, from = 'client', timeoutMilliseconds = 500): Promise<boolean> {
    return 'server' in (await this.probe({ from, to, timeoutMilliseconds }));
  }

  /** Waits until `to` is answered; resolves to the milliseconds that took. Rejects when the proxy ends. */
  answersSoon(proxy: ProxyProcess, to: string, timeoutMilliseconds = 10_000): Promise<number> {
    return waitUntil(
      `${to} answers`,
      async () => {
        if (proxy.exit !== undefined) throw new Error(`the proxy ended:\n${proxy.log}`);
        return this.answers(to, 'client', 250);
      },
      timeoutMilliseconds,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${proxy.log.slice(-3000)}`);
    });
  }

  /** A page of an HTTP server on the node's loopback address: status and body, undefined where nothing listens. */
  async page(port: number, path: string): Promise<{ status: number; body: unknown } | undefined> {
    // Ample: where nothing listens it is known at once.
    const timeoutMilliseconds = 10_000;
    const to = `127.0.0.1:${port}`;
    const outcome = await this.probe({ from: 'node1', to, proto: 'http', path, timeoutMilliseconds });
    return 'status' in outcome ? outcome : undefined;
  }

  /** A sample of the proxy's metrics by its name and labels as printed; 0 where it is missing. */
  async metric(sample: string): Promise<number> {
    const page = await this.page(10249, '/metrics');
    const line = String(page?.body ?? '')
      .split('\n')
      .find((text) => text.startsWith(`${sample} `));
    return line === undefined ? 0 : Number(line.slice(sample.length));
  }

  /** Waits until a proxy has brought both families into the kernel. */
  async synced(proxy: ProxyProcess, timeoutMilliseconds = 15_000): Promise<void> {
    await waitUntil(
      'both families are synced',
      async () => {
        if (proxy.exit !== undefined) throw new Error(`the proxy ended:\n${proxy.log}`);
        for (const family of ['IPv4', 'IPv6']) {
          const sample = `kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="${family}"}`;
          if ((await this.metric(sample)) === 0) return false;
        }
        return true;
      },
      timeoutMilliseconds,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${proxy.log.slice(-3000)}`);
    });
  }

  /** Steady traffic from the client outside. */
  traffic(flows: Readonly<Record<string, FlowSpec>>): Promise<TrafficClient> {
    return TrafficClient.start(this.testbed.fullName('client'), flows);
  }
}

export type { TestObject };
