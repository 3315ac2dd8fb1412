/** A file of an archive; its folders are made by themselves. `path` is relative, like `bin/busybox`. */
export interface ArchiveFile {
  readonly path: string;
  readonly contents: Uint8Array;
  readonly executable?: boolean;
}

const REGULAR = 0o100_000;
const DIRECTORY = 0o040_000;
const END = 'TRAILER!!!';

/** The files and empty folders as a cpio archive of the kind "newc", which the kernel unpacks as its first file system. */
export function cpioArchive(files: readonly ArchiveFile[], folders: readonly string[] = []): Buffer {
  const all = new Set([...folders, ...files.map(({ path }) => path)].flatMap(parents));
  for (const folder of folders) all.add(folder);
  const directories = [...all].sort().map((path) => ({ path, mode: DIRECTORY | 0o755, contents: EMPTY }));
  const regular = files.map(({ path, contents, executable = false }) => ({
    path,
    mode: REGULAR | (executable ? 0o755 : 0o644),
    contents,
  }));
  const entries = [...directories, ...regular, { path: END, mode: 0, contents: EMPTY }];
  return Buffer.concat(entries.flatMap((entry, index) => cpioEntry(entry, index + 1)));
}

const EMPTY = new Uint8Array();

interface CpioEntry {
  readonly path: string;
  readonly mode: number;
  readonly contents: Uint8Array;
}

function cpioEntry({ path, mode, contents }: CpioEntry, inode: number): Uint8Array[] {
  const name = Buffer.from(`${path}\0`);
  const links = 1;
  const fields = [inode, mode, 0, 0, links, 0, contents.length, 0, 0, 0, 0, name.length, 0];
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`;
  return [...padded(Buffer.concat([Buffer.from(header), name])), ...padded(contents)];
}

/** Header with name, and contents, each end on a multiple of four bytes. */
function padded(bytes: Uint8Array): Uint8Array[] {
  return [bytes, new Uint8Array(-bytes.length & 3)];
}

/** `a/b/c` has the parents `a` and `a/b`. */
function parents(path: string): string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}
