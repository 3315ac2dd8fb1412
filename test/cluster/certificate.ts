import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A certificate with its key, as PEM texts. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** A throw-away certification authority, made by the `openssl` program. */
export function makeAuthority(commonName: string): Certificate {
  return inScratchFolder((folder) => {
    openssl(folder, [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30'],
      ...['-subj', `/CN=${commonName}`, '-keyout', 'key.pem', '-out', 'cert.pem'],
      ...['-addext', 'basicConstraints=critical,CA:TRUE'],
    ]);
    return read(folder);
  });
}

/** A certificate signed by `authority`; `hosts` are IP addresses or DNS names it is good for. */
export function makeCertificate(
  authority: Certificate,
  commonName: string,
  hosts: readonly string[] = [],
  organization = 'system:node-proxier',
): Certificate {
  return inScratchFolder((folder) => {
    writeFileSync(join(folder, 'ca.pem'), authority.certificate);
    writeFileSync(join(folder, 'ca.key'), authority.key, { mode: 0o600 });
    const names = hosts.map((host) => (/^[\d.]+$|:/.test(host) ? `IP:${host}` : `DNS:${host}`));
    const altName = names.length === 0 ? [] : ['-addext', `subjectAltName=${names.join(',')}`];
    openssl(folder, [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30'],
      ...['-subj', `/O=${organization}/CN=${commonName}`, '-keyout', 'key.pem', '-out', 'cert.pem'],
      ...['-CA', 'ca.pem', '-CAkey', 'ca.key', '-addext', 'basicConstraints=critical,CA:FALSE'],
      ...altName,
    ]);
    return read(folder);
  });
}

function inScratchFolder<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'stand-in-cert-'));
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function openssl(folder: string, args: readonly string[]): void {
  execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
}

function read(folder: string): Certificate {
  return {
    certificate: readFileSync(join(folder, 'cert.pem'), 'utf8'),
    key: readFileSync(join(folder, 'key.pem'), 'utf8'),
  };
}
