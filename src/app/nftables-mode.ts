import type { IpFamily } from '../base/ip.ts';
import { nftFamily } from '../dataplane/nftables/family-terms.ts';
import { TABLE } from '../dataplane/nftables/names.ts';
import type { NftablesKernel } from '../dataplane/nftables/nftables-kernel.ts';
import { NftablesProxier } from '../dataplane/nftables/nftables-proxier.ts';
import type { Proxier } from '../dataplane/proxier.ts';
import { NftablesConnection } from '../kernel/nftables/nftables-connection.ts';
import { type ProbedKernel, probeNftables, requireFeatures } from '../kernel/nftables/probe.ts';
import { watchForeignEdits } from './foreign-edits.ts';
import { holdTranslation } from './hold-translation.ts';
import type { ModeDependencies, OpenMode } from './modes.ts';

/** Opens the nftables mode. Throws NftablesError where the kernel has no nf_tables, or this process no right to it. */
export function openNftablesMode(families: readonly IpFamily[], dependencies: ModeDependencies): OpenMode {
  const { clock, logger, onForeignEdit } = dependencies;
  const connection = NftablesConnection.open();
  try {
    for (const family of families) connection.listNames(nftFamily(family), TABLE);
  } catch (error) {
    connection.close();
    throw error;
  }
  const edits = watchForeignEdits({ own: connection, families, logger, onForeignEdit });
  const kernel = explainingFirstFailure(edits.kernel, connection);
  const hold = holdTranslation(connection, logger);
  const proxiers = new Map<IpFamily, Proxier>();
  for (const family of families) {
    const proxier = new NftablesProxier({ family }, { kernel, clock, logger });
    proxiers.set(family, {
      async sync(plan, diff) {
        const report = await proxier.sync(plan, diff);
        hold(family);
        return report;
      },
      close: () => proxier.close(),
    });
  }
  return {
    proxiers,
    close() {
      edits.close();
      connection.close();
    },
  };
}

/**
 * Before anything has been committed a refusal mostly means that the kernel lacks something: finds out what, and throws
 * that instead (NFT_FEATURE_MISSING). Asking at every start would delay it by hundreds of milliseconds.
 */
export function explainingFirstFailure(kernel: NftablesKernel, probed: ProbedKernel): NftablesKernel {
  let hasCommitted = false;
  return {
    listNames: (family, table) => kernel.listNames(family, table),
    close: () => kernel.close(),
    commit(transaction) {
      try {
        const size = kernel.commit(transaction);
        hasCommitted = true;
        return size;
      } catch (error) {
        if (!hasCommitted) requireFeatures(probeNftables(probed, transaction.family));
        throw error;
      }
    },
  };
}
