import type { IpFamily } from '../base/ip.ts';
import { nftFamily } from '../dataplane/nftables/family-terms.ts';
import { NftablesProxier } from '../dataplane/nftables/nftables-proxier.ts';
import type { Proxier } from '../dataplane/proxier.ts';
import { NftablesConnection } from '../kernel/nftables/nftables-connection.ts';
import { probeNftables, requireFeatures } from '../kernel/nftables/probe.ts';
import { watchForeignEdits } from './foreign-edits.ts';
import type { ModeDependencies, OpenMode } from './modes.ts';

/** Opens the nftables mode. Throws NftablesError that names everything this kernel lacks. */
export function openNftablesMode(families: readonly IpFamily[], dependencies: ModeDependencies): OpenMode {
  const { clock, logger, onForeignEdit } = dependencies;
  const connection = NftablesConnection.open();
  try {
    for (const family of families) requireFeatures(probeNftables(connection, nftFamily(family)));
  } catch (error) {
    connection.close();
    throw error;
  }
  const edits = watchForeignEdits({ own: connection, families, logger, onForeignEdit });
  const proxiers = new Map<IpFamily, Proxier>();
  for (const family of families) {
    proxiers.set(family, new NftablesProxier({ family }, { kernel: edits.kernel, clock, logger }));
  }
  return {
    proxiers,
    close() {
      edits.close();
      connection.close();
    },
  };
}
