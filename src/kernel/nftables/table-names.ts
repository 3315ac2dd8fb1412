/** What a table holds, by name only. Sets the kernel named itself (those written in place in rules) are left out. */
export interface TableNames {
  readonly chains: readonly string[];
  readonly sets: readonly { readonly name: string; readonly kind: 'set' | 'map' }[];
}
