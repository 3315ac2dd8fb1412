import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../netns/testbed/run-command.ts';

/** Debian releases and what their kernels are of interest for. */
export const RELEASES = {
  bullseye: '5.10: older than nftables mode asks for',
  bookworm: '6.1',
  trixie: '6.12',
} as const;

export type Release = keyof typeof RELEASES;

/** A kernel with its modules, unpacked in a folder that nothing else uses. */
export interface DebianKernel {
  /** As `uname -r` prints it. */
  readonly version: string;
  readonly image: string;
  /** The folder that belongs to `/lib/modules/VERSION`. */
  readonly modules: string;
}

/** The largest folders of modules that no network test needs: four fifths of the package. */
const UNUSED_MODULES = [
  'sound',
  'drivers/net/ethernet',
  'drivers/net/wireless',
  ...['gpu', 'hwmon', 'iio', 'infiniband', 'media', 'scsi', 'staging', 'usb'].map(
    (name) => `drivers/${name}`,
  ),
];

/**
 * The kernel of a Debian release. The first call downloads its package with apt and unpacks it into `cache`; the
 * system's own package lists and packages stay as they are. Needs dpkg, kmod and busybox-static.
 */
export async function debianKernel(release: Release, cache: string): Promise<DebianKernel> {
  const home = join(cache, release);
  if (!existsSync(home)) await unpackKernel(release, home);
  const [version] = readdirSync(join(home, 'modules'));
  if (version === undefined) throw new Error(`${home} holds no kernel: delete it and try again`);
  return { version, image: join(home, 'vmlinuz'), modules: join(home, 'modules', version) };
}

async function unpackKernel(release: Release, home: string): Promise<void> {
  console.error(`Fetching the kernel of Debian ${release} into ${home} ...`);
  const work = `${home}.partial`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  await downloadKernel(release, work);
  await runCommand([
    ...['sh', '-c', `dpkg-deb --fsys-tarfile "$0"/linux-image-*.deb | tar -x -C "$0" "$@"`, work],
    ...UNUSED_MODULES.map((folder) => `--exclude=*/kernel/${folder}`),
    ...['--wildcards', '*/boot', '*/lib/modules'],
  ]);
  const prefix = existsSync(join(work, 'lib')) ? work : join(work, 'usr');
  const [version] = readdirSync(join(prefix, 'lib/modules'));
  if (version === undefined) throw new Error(`the kernel package of ${release} has no modules`);
  // The modules of newer releases are compressed, and what loads them first cannot unpack them.
  await runCommand(['find', prefix, '-name', '*.ko.xz', '-exec', 'busybox', 'unxz', '{}', '+']);
  await runCommand(['depmod', '-b', prefix, version]);
  const ready = join(work, 'ready');
  mkdirSync(ready);
  renameSync(join(work, 'boot', `vmlinuz-${version}`), join(ready, 'vmlinuz'));
  renameSync(join(prefix, 'lib/modules'), join(ready, 'modules'));
  renameSync(ready, home);
  rmSync(work, { recursive: true });
}

/** Downloads the package that `linux-image-amd64` stands for into `folder`. */
async function downloadKernel(release: Release, folder: string): Promise<void> {
  const key = 'signed-by=/usr/share/keyrings/debian-archive-keyring.gpg';
  const sources = join(folder, 'sources.list');
  writeFileSync(
    sources,
    `deb [${key}] http://deb.debian.org/debian ${release} main
deb [${key}] http://deb.debian.org/debian-security ${release}-security main\n`,
  );
  for (const name of ['lists/partial', 'cache/archives/partial'])
    mkdirSync(join(folder, name), { recursive: true });
  const settings = {
    'Dir::Etc::SourceList': sources,
    'Dir::Etc::SourceParts': '-',
    'Dir::State::Lists': join(folder, 'lists'),
    'Dir::Cache': join(folder, 'cache'),
    'Acquire::Languages': 'none',
    // The user that apt usually downloads with may not write here.
    'APT::Sandbox::User': 'root',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  await runCommand(['apt-get', ...options, '-qq', 'update']);
  const depends = await runCommand(['apt-cache', ...options, 'depends', 'linux-image-amd64']);
  const name = /Depends: (linux-image-\S+)/.exec(depends)?.[1];
  if (name === undefined) throw new Error(`Debian ${release} names no kernel package:\n${depends}`);
  await runCommand(['sh', '-c', 'cd "$0" && exec apt-get "$@"', folder, ...options, '-qq', 'download', name]);
}
