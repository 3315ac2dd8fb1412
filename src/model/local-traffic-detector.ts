/**
 * How to tell that a packet comes from a pod of this node (spec A.6.1, operations 8). Plain data: each mode renders it
 * in its own language. `none` means there is no way to tell, and rules that need it are left out.
 */
export type LocalTrafficDetector =
  | { readonly kind: 'cidr'; readonly cidr: string }
  | { readonly kind: 'bridgeInterface'; readonly name: string }
  | { readonly kind: 'interfaceNamePrefix'; readonly prefix: string }
  | { readonly kind: 'none' };
