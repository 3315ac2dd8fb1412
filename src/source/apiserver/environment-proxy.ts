import { cidrContains, isLoopback, parseCidr, parseIp } from '../../base/ip.ts';

/**
 * URL of the proxy that the environment names for a server, undefined for a direct connection. Read as Go reads it
 * (golang.org/x/net/http/httpproxy), because kubeadm hands the variables on to kube-proxy as an administrator wrote
 * them for Go: `NO_PROXY` may name networks, a domain stands for its subdomains too, and loopback addresses are never
 * asked for by a proxy.
 */
export function environmentProxy(server: URL, env: NodeJS.ProcessEnv): string | undefined {
  const read = (name: string) => env[name] || env[name.toLowerCase()] || '';
  const proxy = read(server.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY').trim();
  if (proxy === '' || isExempt(server, read('NO_PROXY'))) return undefined;
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
}

function isExempt(server: URL, noProxy: string): boolean {
  const host = unbracketed(server.hostname.toLowerCase());
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  const ip = parseIp(host);
  if (host === 'localhost' || (ip !== undefined && isLoopback(ip))) return true;
  return noProxy.split(',').some((entry) => matches(entry.trim().toLowerCase(), host, ip, port));
}

function matches(entry: string, host: string, ip: string | undefined, port: string): boolean {
  if (entry === '') return false;
  if (entry === '*') return true;
  const network = parseCidr(entry);
  if (network !== undefined) return ip !== undefined && cidrContains(network, ip);
  // An address without brackets that has colons is IPv6 and has no port.
  const [, name = entry, entryPort] = /^(\[.*\]|[^:]*):(\d+)$/.exec(entry) ?? [];
  if (entryPort !== undefined && entryPort !== port) return false;
  const entryIp = parseIp(unbracketed(name));
  if (entryIp !== undefined || ip !== undefined) return entryIp === ip;
  if (name === '') return false;
  // `.example.com` and `*.example.com` are the subdomains alone.
  const suffix = name.startsWith('*.') ? name.slice(1) : name;
  return suffix.startsWith('.') ? host.endsWith(suffix) : host === suffix || host.endsWith(`.${suffix}`);
}

function unbracketed(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
