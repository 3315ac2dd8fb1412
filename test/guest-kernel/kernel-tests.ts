// What `make test-guest` runs in the guest: the tests that meet the kernel, one after the other.
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

/** One scenario for each thing that the kernel does for us; the others differ in what is decided before it. */
const SCENARIOS = [
  'affinity-sticky',
  'both-policies-local',
  'change-many-at-once',
  'dual-stack-lb',
  'etp-local-terminating',
  'hairpin-node-port',
  'lb-source-ranges-changed',
  'mode-switch',
  'no-endpoints',
  'nodeport-localhost',
  'proxy-restart-udp',
  'udp-endpoint-replaced',
];

const { values } = parseArgs({
  options: {
    scenarios: { type: 'string', default: SCENARIOS.join(',') },
    variants: { type: 'string', default: 'nftables,iptables-nft,iptables-legacy' },
    'no-netns': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const USAGE = `  --scenarios NAMES   as for test/netns/replay/main.ts; '*' for all; default ${SCENARIOS.length} of them
  --variants NAMES    default ${values.variants}
  --no-netns          without src/kernel/**/*.netns.test.ts and src/dataplane/**/*.netns.test.ts
`;

if (values.help) console.log(USAGE);
else process.exitCode = run();

function run(): number {
  const replays = values.variants.split(',').map((variant) => ({
    what: `scenarios, ${variant}`,
    argv: ['test/netns/replay/main.ts', '--mode', variant, '--only', values.scenarios],
  }));
  const netns = {
    what: 'netns tests',
    argv: ['node_modules/vitest/vitest.mjs', 'run', '--project', 'netns', 'src/kernel', 'src/dataplane'],
  };
  const fresh = { what: 'start without modules', argv: ['test/guest-kernel/fresh-kernel.ts'] };
  const suites = [fresh, ...replays, ...(values['no-netns'] ? [] : [netns])];
  const lines = suites.map(({ what, argv }) => {
    console.log(`\n== ${what}`);
    const begin = performance.now();
    const { status } = spawnSync(process.execPath, argv, { stdio: 'inherit' });
    const seconds = ((performance.now() - begin) / 1000).toFixed(0);
    return { ok: status === 0, text: `${status === 0 ? 'pass' : 'FAIL'}  ${what}, ${seconds} s` };
  });
  console.log(`\n${lines.map(({ text }) => text).join('\n')}`);
  return lines.every(({ ok }) => ok) ? 0 : 1;
}
