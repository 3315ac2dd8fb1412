import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { runCommand, tryCommand } from './run-command.ts';

/** A prefix no other test bed has: it holds the process id, so that left-overs can be told from what is in use. */
export function newNamePrefix(): string {
  return `fl${process.pid}-${randomBytes(2).toString('hex')}`;
}

/** Deletes the namespaces of test beds whose process has died, together with the processes still inside them. */
export async function removeStaleNamespaces(): Promise<string[]> {
  const stale = listNamespaces().filter((name) => {
    const pid = /^fl(\d+)-/.exec(name)?.[1];
    return pid !== undefined && !isTestProcess(Number(pid));
  });
  await removeNamespaces(stale);
  return stale;
}

/** Kills what runs in these namespaces and deletes them. Names that do not exist are skipped. */
export async function removeNamespaces(names: readonly string[]): Promise<void> {
  const present = new Set(listNamespaces());
  const doomed = names.filter((name) => present.has(name));
  if (doomed.length === 0) return;
  await Promise.all(doomed.map(killInside));
  await runCommand(['ip', '-batch', '-'], `${doomed.map((name) => `netns del ${name}`).join('\n')}\n`);
}

function listNamespaces(): string[] {
  try {
    return readdirSync('/run/netns');
  } catch {
    return []; // The directory appears with the first namespace.
  }
}

async function killInside(name: string): Promise<void> {
  const { stdout } = await tryCommand(['ip', 'netns', 'pids', name]);
  for (const pid of stdout.split('\n').filter(Boolean)) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It ended by itself.
    }
  }
}

/** Whether the process lives and can be ours: process ids are used again, but hardly for another Node program. */
function isTestProcess(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('node');
  } catch {
    return false;
  }
}
