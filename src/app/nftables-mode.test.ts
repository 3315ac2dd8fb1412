import { expect, test } from 'vitest';
import { NftablesError } from '../kernel/nftables/nftables-error.ts';
import { Transaction } from '../kernel/nftables/transaction.ts';
import { explainingFirstFailure } from './nftables-mode.ts';

const refusal = new NftablesError({ code: 'NFT_DUMP_UNSTABLE', what: 'x', attempts: 1 }, 'refused');

function setup(missing: string) {
  let refuse = true;
  const kernel = explainingFirstFailure(
    {
      listNames: () => undefined,
      close() {},
      commit() {
        if (refuse) throw refusal;
        return 1;
      },
    },
    {
      check(transaction) {
        if (transaction.toString().includes(missing)) throw refusal;
      },
    },
  );
  const commit = () => kernel.commit(new Transaction('ip', 'kube-proxy'));
  return { commit, accept: () => (refuse = false), refuseAgain: () => (refuse = true) };
}

test('a refusal before anything was committed names what the kernel lacks', () => {
  const { commit } = setup('numgen');
  expect(commit).toThrow(
    expect.objectContaining({ code: 'NFT_FEATURE_MISSING', message: expect.stringContaining('NFT_NUMGEN') }),
  );
});

test('a kernel that lacks nothing keeps its own words', () => {
  expect(setup('nothing has this').commit).toThrow(refusal);
});

test('later refusals are about the transaction', () => {
  const { commit, accept, refuseAgain } = setup('numgen');
  accept();
  expect(commit()).toBe(1);
  refuseAgain();
  expect(commit).toThrow(refusal);
});
