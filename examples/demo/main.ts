// `make demo`: Fairlead on two nodes made of network namespaces. MODE chooses the proxy mode (nftables, iptables);
// without a terminal, or with ONESHOT=1, it ends after the tour, with exit code 0 when every line was as expected.
import { closeOnSignal } from '../../test/netns/testbed/close-on-signal.ts';
import { AFTER_SCALING, type CheckGroup, TOUR } from './checks.ts';
import { Demo } from './demo.ts';
import { type CheckResult, REQUESTS, runCheck } from './run-check.ts';
import { scaleWeb } from './scale-web.ts';
import { PODS } from './shop-network.ts';
import { cells, columnWidths, paint, renderTable } from './table.ts';
import { thingsToTry } from './things-to-try.ts';

const mode = process.env['MODE'] || 'nftables';
const interactive = process.stdout.isTTY === true && process.env['ONESHOT'] !== '1';
const colours = paint(process.stdout.isTTY === true && !process.env['NO_COLOR']);

if (process.getuid?.() !== 0) {
  console.error('The demo makes network namespaces and needs root: sudo make demo');
  process.exit(1);
}

const created = Demo.create();
let interrupted = false;
/** Exit code of the tour, once it has ended: then a signal is the normal way out. */
let tourCode: number | undefined;
const stopListening = closeOnSignal(async () => {
  interrupted = true;
  console.log('\nTaking everything down ...');
  await (await created).close();
  return tourCode;
});

process.exitCode = await run();
stopListening();

async function run(): Promise<number> {
  console.log(`Building two nodes, ${PODS.length} pods, a router and a client ...`);
  const demo = await created;
  try {
    if (interrupted) return 1;
    console.log(`Starting Fairlead on node1 and node2, ${mode} mode, with the objects of examples/shop ...`);
    await demo.startFairlead(mode);
    console.log(`${REQUESTS} requests a line:`);
    const results = await tour(demo);
    const wrong = results.filter(({ passed }) => !passed).length;
    const verdict = wrong === 0 ? colours.good('All as expected') : colours.bad(`${wrong} not as expected`);
    console.log(`\n${verdict} (${results.length} lines).`);
    tourCode = wrong === 0 ? 0 : 1;
    if (interactive) {
      console.log(thingsToTry(demo, mode, colours));
      await new Promise(() => setInterval(() => {}, 60_000)); // Until a signal ends the process.
    }
    return tourCode;
  } catch (error) {
    if (!interrupted) console.error(colours.bad(error instanceof Error ? error.message : String(error)));
    return 1;
  } finally {
    await demo.close();
  }
}

async function tour(demo: Demo): Promise<CheckResult[]> {
  const before = await runGroups(demo, TOUR);
  const widths = columnWidths(before.flat().map(cells));
  for (const [index, { title }] of TOUR.entries()) {
    console.log(renderTable(title, before[index] ?? [], widths, colours));
  }
  scaleWeb(demo.manifests);
  console.log(`\nScaling web: web-3 on node2 becomes an endpoint in ${demo.manifests}/web.yaml`);
  const web3 = PODS.find(({ name }) => name === 'web-3');
  await demo.waitFor(['10.96.0.10:80', '[fd00:10:96::10]:80'], (server) =>
    [`${web3?.ipv4}:8080`, `[${web3?.ipv6}]:8080`].includes(server),
  );
  const [after = []] = await runGroups(demo, [AFTER_SCALING]);
  const all = columnWidths([...before.flat(), ...after].map(cells));
  console.log(renderTable(AFTER_SCALING.title, after, all, colours));
  return [...before.flat(), ...after];
}

/** All lines at once: most of a line that ends without an answer is waiting. */
async function runGroups(demo: Demo, groups: readonly CheckGroup[]): Promise<CheckResult[][]> {
  return Promise.all(
    groups.map(({ checks }) => Promise.all(checks.map((check) => runCheck(demo.bed, check)))),
  );
}
