import { readFileSync, writeFileSync } from 'node:fs';

const LIMIT = '/proc/sys/net/netfilter/nf_conntrack_max';

/**
 * Makes room for so many connections in the table, which all network namespaces share a limit for; a proxy that ran on
 * this machine before may have lowered it. Returns how to put the limit back.
 */
export function makeRoomForConnections(entries: number): Disposable {
  const before = readFileSync(LIMIT, 'utf8').trim();
  if (Number(before) >= entries) return { [Symbol.dispose]() {} };
  writeFileSync(LIMIT, String(entries));
  return { [Symbol.dispose]: () => writeFileSync(LIMIT, before) };
}
