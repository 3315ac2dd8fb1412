/**
 * Room to declare for a set that holds `count` elements. The kernel sizes the hash table by it, which makes loading
 * faster, but then takes no more than that; a set that outgrows its room is declared anew by a full sync.
 */
export function roomFor(count: number): number {
  return Math.max(1024, 2 ** (32 - Math.clz32(count * 2)));
}
