import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ArchiveFile, cpioArchive } from './cpio-archive.ts';
import type { DebianKernel } from './debian-kernel.ts';
import { moduleOrder } from './module-order.ts';

const BUSYBOX = '/bin/busybox';
/** Without these the guest sees neither the host's files nor the channels for output and status. */
const MODULES = ['virtio_pci', 'virtio_console', '9pnet_virtio', '9p', 'overlay'];

/** The first file system of the guest: busybox, some modules and first-init.sh. */
export function initramfs({ modules }: DebianKernel): Buffer {
  const text = (name: string): string => readFileSync(join(modules, name), 'utf8');
  const order = moduleOrder(MODULES, text('modules.dep'), text('modules.builtin'));
  const files: ArchiveFile[] = [
    { path: 'init', contents: readFileSync(new URL('first-init.sh', import.meta.url)), executable: true },
    { path: 'bin/busybox', contents: readFileSync(BUSYBOX), executable: true },
    { path: 'modules/order', contents: Buffer.from(order.map((path) => `${path}\n`).join('')) },
    ...order.map((path) => ({ path: `modules/${path}`, contents: readFileSync(join(modules, path)) })),
  ];
  return cpioArchive(files, ['proc', 'dev', 'host', 'memory', 'root']);
}
