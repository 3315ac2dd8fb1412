import { expect, test } from 'vitest';
import { type Iptables, openIptables } from './iptables.ts';
import type { IptablesBackend } from './iptables-version.ts';
import type { RunProgram } from './run-program.ts';

/** Programs that end when they are told to. */
class HeldPrograms {
  readonly running = new Set<string>();
  readonly #ends: (() => void)[] = [];

  readonly run: RunProgram = async (program, args) => {
    const stdout = 'iptables v1.8.9 (legacy)';
    if (args.includes('--version')) return { exitStatus: 0, stdout, stderr: '' };
    this.running.add(program);
    await new Promise<void>((resolve) => this.#ends.push(resolve));
    this.running.delete(program);
    return { exitStatus: 0, stdout: '', stderr: '' };
  };

  open(backend: IptablesBackend): Promise<Iptables[]> {
    const families = ['IPv4', 'IPv6'] as const;
    return Promise.all(families.map((family) => openIptables({ family, backend, run: this.run })));
  }

  /** Ends the one that has run for longest. */
  async endOne(): Promise<void> {
    this.#ends.shift()!();
    await settle();
  }
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

test('on the legacy back-end both families take turns, since they take the same lock', async () => {
  const programs = new HeldPrograms();
  const [four, six] = await programs.open('legacy');
  const done = [four!.restore(['*nat\nCOMMIT\n']), six!.restore([]), four!.listChains('nat')];
  const seen: string[][] = [];
  for (let turn = 0; turn < 3; turn++) {
    await settle();
    seen.push([...programs.running]);
    await programs.endOne();
  }
  await Promise.all(done);
  expect(seen).toEqual([['iptables-legacy-restore'], ['ip6tables-legacy-restore'], ['iptables-legacy-save']]);
});

test('on the nft back-end, which has no lock, they do not', async () => {
  const programs = new HeldPrograms();
  const [four, six] = await programs.open('nft');
  const done = [four!.restore([]), four!.restore([]), six!.restore([])];
  await settle();
  expect([...programs.running].sort()).toEqual(['ip6tables-nft-restore', 'iptables-nft-restore']);
  for (let turn = 0; turn < 3; turn++) await programs.endOne();
  await Promise.all(done);
});
