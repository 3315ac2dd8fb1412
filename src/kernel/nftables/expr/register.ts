/**
 * Registers are numbered here by their place in the register file: 16 slots of 4 bytes. nf_tables has two spellings,
 * NFT_REG_1…4 for every fourth slot and NFT_REG32_00… for each (linux/netfilter/nf_tables.h); like nft and the
 * kernel's own dumps we use the former where it exists.
 */
export type Slot = number;

const NFT_REG32_00 = 8;

/** Slots of the register file. */
export const SLOTS = 16;

/** The kernel's number of a slot. */
export const registerNumber = (slot: Slot): number => (slot % 4 === 0 ? slot / 4 + 1 : NFT_REG32_00 + slot);

/** The slot of a kernel number; -1 for the verdict register. */
export const registerSlot = (register: number): Slot =>
  register >= NFT_REG32_00 ? register - NFT_REG32_00 : (register - 1) * 4;

/** Slots that a value of `length` bytes occupies. */
export const slotsFor = (length: number): number => (length + 3) >> 2;
