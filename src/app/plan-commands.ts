import { familyOf, parseIp } from '../base/ip.ts';
import type { CommandLineIO } from '../cli/command-line-io.ts';
import type { Invocation } from '../cli/invocation.ts';
import { resolveInvocation } from '../cli/resolve-invocation.ts';
import type { Subcommand } from '../cli/subcommand.ts';
import { parseFlags } from '../config/parse-flags.ts';
import type { Protocol } from '../model/service-port.ts';
import { explainConnection } from '../plan/explain.ts';
import { printPlan } from '../plan/print-plan.ts';
import { collectPlans } from './collect-plans.ts';

/** `fairlead show-plan FLAGS`: what would be programmed on this node. */
export const showPlan: Subcommand = {
  summary: 'print what would be programmed on this node, and change nothing; takes the flags of the proxy',
  run: (argv, io) =>
    withInvocation(argv, io, 'show-plan', async (invocation) => {
      const { plans } = await collectPlans(invocation, AbortSignal.timeout(60_000));
      for (const plan of plans) io.stdout(`${printPlan(plan)}\n`);
      return 0;
    }),
};

/** `fairlead explain IP:PORT[/PROTOCOL] [from IP] FLAGS`: what happens to a connection, and why. */
export const explain: Subcommand = {
  summary:
    'explain IP:PORT[/TCP|UDP|SCTP] [from IP]: what happens to such a connection on this node, and why',
  async run(argv, io) {
    const words = 'explain IP:PORT[/TCP|UDP|SCTP] [from IP]';
    if (asksForHelp(argv)) return printUsage(words, io);
    const question = parseQuestion(argv);
    if (question === undefined) {
      io.stderr(
        'Error: explain takes IP:PORT or IP:PORT/PROTOCOL, then optionally "from IP", then the flags of the proxy\n',
      );
      return 1;
    }
    const { destination, source, rest } = question;
    return withInvocation(rest, io, words, async (invocation) => {
      const { plans, nodeAddresses } = await collectPlans(invocation, AbortSignal.timeout(60_000));
      const plan = plans.find(({ settings }) => settings.family === familyOf(destination.ip));
      if (plan === undefined) {
        io.stderr(`Error: this node has no ${familyOf(destination.ip)}\n`);
        return 1;
      }
      const mode = invocation.config.mode === 'nftables' ? 'nftables' : 'iptables';
      const lines = explainConnection({ destination, source }, { plan, mode, nodeAddresses });
      io.stdout(`${lines.join('\n')}\n`);
      return 0;
    });
  },
};

interface Question {
  readonly destination: { readonly ip: string; readonly port: number; readonly protocol: Protocol };
  readonly source: string | undefined;
  readonly rest: readonly string[];
}

/** Reads the words before the flags; undefined when they are no question. */
function parseQuestion(argv: readonly string[]): Question | undefined {
  const match = /^(?:\[([^\]]+)\]|([0-9.]+)):([0-9]{1,5})(?:\/(tcp|udp|sctp))?$/i.exec(argv[0] ?? '');
  const ip = match === null ? undefined : parseIp(match[1] ?? match[2] ?? '');
  const port = Number(match?.[3]);
  if (ip === undefined || port < 1 || port > 65_535) return undefined;
  const protocol = (match?.[4] ?? 'TCP').toUpperCase() as Protocol;
  const destination = { ip, port, protocol };
  if (argv[1] !== 'from') return { destination, source: undefined, rest: argv.slice(1) };
  const source = parseIp(argv[2] ?? '');
  return source === undefined ? undefined : { destination, source, rest: argv.slice(3) };
}

/** Runs a command whose words are followed by the flags `argv`. */
async function withInvocation(
  argv: readonly string[],
  io: CommandLineIO,
  words: string,
  run: (invocation: Invocation) => Promise<number>,
): Promise<number> {
  if (asksForHelp(argv)) return printUsage(words, io);
  try {
    const resolved = resolveInvocation(parseFlags(argv), io);
    if ('exitStatus' in resolved) return resolved.exitStatus;
    try {
      return await run(resolved.invocation);
    } finally {
      resolved.invocation.configFileWatch?.close();
      resolved.invocation.logger.close();
    }
  } catch (error) {
    io.stderr(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

function asksForHelp(argv: readonly string[]): boolean {
  return argv.includes('--help') || argv.includes('-h');
}

function printUsage(words: string, io: CommandLineIO): number {
  io.stdout(
    `Usage: ${io.program} ${words} [flags]\n\nTakes the flags of the proxy: see ${io.program} --help.\n`,
  );
  return 0;
}
