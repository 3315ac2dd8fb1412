import type { AttributeReader } from '../netlink/attribute-reader.ts';
import { NFTA_GEN_ID, NFTA_GEN_PROC_NAME, NFTA_GEN_PROC_PID } from './constants.ts';

/** A state of the whole ruleset: the number goes up with each transaction of anybody's. */
export interface Generation {
  readonly generation: number;
  /** The process that made it, as the kernel saw it (in the pid namespace of the host). */
  readonly processId: number;
  readonly processName: string;
}

/** Reads NFT_MSG_NEWGEN. */
export function decodeGeneration(reader: AttributeReader): Generation {
  let generation = 0;
  let processId = 0;
  let processName = '';
  while (reader.next()) {
    if (reader.type === NFTA_GEN_ID) generation = reader.u32be();
    else if (reader.type === NFTA_GEN_PROC_PID) processId = reader.u32be();
    else if (reader.type === NFTA_GEN_PROC_NAME) processName = reader.string();
  }
  return { generation, processId, processName };
}
