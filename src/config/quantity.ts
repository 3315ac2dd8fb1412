/** A Kubernetes resource quantity: its value, and the text Kubernetes prints for it. */
export interface Quantity {
  readonly value: number;
  readonly text: string;
}

export const zeroQuantity: Quantity = { value: 0, text: '0' };

const decimalSuffixes = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/**
 * Reads a quantity such as `512`, `1K`, `2Ki` or `3M` (operations 1.2; syntax of apimachinery's resource package, whole numbers only,
 * and upper-case `K` as klog's options allow). Returns `undefined` when the text is none.
 */
export function parseQuantity(text: string): Quantity | undefined {
  const parts = /^([-+]?[0-9]+(?:\.[0-9]*)?|[-+]?\.[0-9]+)(|[kKMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]+)$/.exec(
    text.trim(),
  );
  if (parts === null) return undefined;
  const suffix = parts[2] ?? '';
  if (/^[eE][-+0-9]/.test(suffix)) return decimalQuantity(Number(`${parts[1]}${suffix}`));
  const binary = suffix.endsWith('i');
  const power = (binary ? binarySuffixes : decimalSuffixes).indexOf(suffix === 'K' ? 'k' : suffix);
  const value = Math.ceil(Number(parts[1]) * (binary ? 1024 : 1000) ** power);
  return binary ? { value, text: shortest(value, 1024, binarySuffixes) } : decimalQuantity(value);
}

function decimalQuantity(value: number): Quantity {
  const whole = Math.ceil(value);
  return { value: whole, text: shortest(whole, 1000, decimalSuffixes) };
}

function shortest(value: number, base: number, suffixes: readonly string[]): string {
  let rest = value;
  let power = 0;
  while (rest !== 0 && rest % base === 0 && power < suffixes.length - 1) {
    rest /= base;
    power++;
  }
  return `${rest}${suffixes[power]}`;
}
