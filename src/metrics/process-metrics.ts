import { readdir, readFile } from 'node:fs/promises';
import type { MetricOptions } from './metric-family.ts';
import type { Registry } from './registry.ts';
import { ScrapeMetric } from './scrape-metric.ts';

/** Ticks per second in /proc; fixed in the kernel's interface to user space. */
const USER_HZ = 100;

/**
 * The `process_*` metrics that Prometheus clients share, read from /proc/self at each scrape. A value that cannot be
 * read is left out.
 *
 * @param startTime Unix time in seconds, see {@link readProcessStartTime}.
 */
export function registerProcessMetrics(registry: Registry, startTime: number): void {
  const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
    new ScrapeMetric({ ...named(name, help), type: 'gauge' }, async () => [[{}, await read()]]);
  const cpu = named('process_cpu_seconds_total', 'Processor time used in user and system mode, in seconds.');
  registry.register(
    new ScrapeMetric({ ...cpu, type: 'counter' }, () => [[{}, cpuSeconds()]]),
    gauge(
      'process_start_time_seconds',
      'Unix time at which the process started, in seconds.',
      () => startTime,
    ),
    gauge('process_resident_memory_bytes', 'Resident memory, in bytes.', () => process.memoryUsage.rss()),
    gauge('process_virtual_memory_bytes', 'Virtual memory, in bytes.', async () =>
      Number((await readStat())[20]),
    ),
    gauge('process_virtual_memory_max_bytes', 'Limit of virtual memory, in bytes.', () =>
      readLimit('Max address space'),
    ),
    gauge('process_open_fds', 'Open file descriptors.', countOpenFiles),
    gauge('process_max_fds', 'Limit of open file descriptors.', () => readLimit('Max open files')),
  );
}

/** Unix time, in seconds, at which the kernel started this process. Falls back to Node's own idea of it. */
export async function readProcessStartTime(): Promise<number> {
  try {
    const bootTime = /^btime (\d+)$/m.exec(await readFile('/proc/stat', 'utf8'))?.[1];
    const seconds = Number(bootTime) + Number((await readStat())[19]) / USER_HZ;
    if (Number.isFinite(seconds)) return seconds;
  } catch {
    // No /proc here: the time below is later by what Node took to start.
  }
  return performance.timeOrigin / 1000;
}

function named(name: string, help: string): MetricOptions {
  return { name, help };
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Fields of /proc/self/stat from the state on: proc(5) counts them from 3. */
async function readStat(): Promise<readonly string[]> {
  const text = await readFile('/proc/self/stat', 'utf8');
  // The name in parentheses may hold blanks and parentheses.
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

async function countOpenFiles(): Promise<number> {
  // Reading the directory opens one.
  return (await readdir('/proc/self/fd')).length - 1;
}

async function readLimit(label: string): Promise<number> {
  const limits = await readFile('/proc/self/limits', 'utf8');
  const line = limits.split('\n').find((candidate) => candidate.startsWith(label));
  const soft = line?.slice(label.length).trim().split(/\s+/)[0];
  if (soft === undefined) throw new Error(`/proc/self/limits does not list ${label}`);
  // RLIM_INFINITY is all ones.
  return soft === 'unlimited' ? 2 ** 64 : Number(soft);
}
