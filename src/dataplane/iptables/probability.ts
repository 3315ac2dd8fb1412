/**
 * `--probability` for a choice of one in `n`: ten decimals, rounded half to even on the exact value of the double, so
 * that the text is kube-proxy's (spec B.1.8). `toFixed` rounds half up; 1/2048 is the one value where that differs,
 * because only a power of two can lie exactly between two texts.
 */
export function probabilityText(n: number): string {
  return n === 2048 ? '0.0004882812' : (1 / n).toFixed(10);
}
