/** `metav1.ListMeta`: absent strings are `''`. */
export interface ListMeta {
  readonly resourceVersion: string;
  /** Token of the next page, `''` on the last one. */
  readonly continue: string;
  readonly remainingItemCount: number | undefined;
}
