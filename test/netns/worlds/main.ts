// Follows random worlds: node test/netns/worlds/main.ts --help
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { VARIANTS, type Variant } from '../replay/exceptions.ts';
import { closeOnSignal } from '../testbed/close-on-signal.ts';
import { WorldBeds } from './world-beds.ts';
import { describeWorldFailure } from './world-report.ts';

const USAGE = `Lets the proxy follow Services and slices that change at random, and compares what packets meet with
what its plan predicts. Needs root.

  --mode MODES      comma-separated: nftables, iptables-nft, iptables-legacy (default nftables,iptables-nft)
  --seed N          first seed (default 1)
  --worlds N        worlds in each mode, with seeds from N on (default 10)
  --steps N         changes of each world (default 8)
  --probes N        probes after each change (default 60)
  --feed FEED       files (default) or apiserver
  --objects         print all objects of a failure, and the rules
`;

const { values } = parseArgs({
  options: {
    mode: { type: 'string', default: 'nftables,iptables-nft' },
    seed: { type: 'string', default: '1' },
    worlds: { type: 'string', default: '10' },
    steps: { type: 'string', default: '8' },
    probes: { type: 'string', default: '60' },
    feed: { type: 'string', default: 'files' },
    objects: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) console.log(USAGE);
else process.exitCode = await run();

async function run(): Promise<number> {
  const variants = values.mode.split(',').map((name) => {
    const variant = VARIANTS.find((known) => known === name);
    if (variant === undefined) throw new Error(`--mode ${name}: not one of ${VARIANTS.join(', ')}`);
    return variant;
  });
  const created = WorldBeds.create(variants);
  closeOnSignal(async () => {
    await (await created).close();
    return undefined;
  });
  const beds = await created;
  try {
    const failed = await Promise.all(variants.map((variant) => follow(beds, variant)));
    return failed.some((count) => count > 0) ? 1 : 0;
  } finally {
    await beds.close();
  }
}

async function follow(beds: WorldBeds, variant: Variant): Promise<number> {
  const first = Number(values.seed);
  let failed = 0;
  for (let seed = first; seed < first + Number(values.worlds); seed++) {
    const begin = performance.now();
    const { failures, probes } = await beds.run(variant, {
      seed,
      steps: Number(values.steps),
      probesPerStep: Number(values.probes),
      feed: values.feed === 'apiserver' ? 'apiserver' : 'files',
    });
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    console.log(
      `${failures.length === 0 ? 'pass' : 'FAIL'}  ${variant} seed ${seed}: ${probes} probes, ${seconds} s`,
    );
    for (const failure of failures) {
      failed += 1;
      console.log(describeWorldFailure(failure));
      if (!values.objects) continue;
      console.log(failure.objects.map((object) => stringify(object)).join('---\n'), failure.ruleset);
    }
  }
  return failed;
}
