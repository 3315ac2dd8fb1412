import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** An empty folder for this process in `parent`; those of processes that were killed are removed. */
export function createRunFolder(parent: string): string {
  for (const name of existsSync(parent) ? readdirSync(parent) : [])
    if (!existsSync(`/proc/${name}`)) rmSync(join(parent, name), { recursive: true, force: true });
  const folder = join(parent, `${process.pid}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
}
