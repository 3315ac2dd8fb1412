import type { Selector } from './selector.ts';

/** A selector in nft syntax. */
export function selectorText(selector: Selector): string {
  switch (selector.kind) {
    case 'payload':
      return `${selector.header} ${selector.field}`;
    case 'meta':
      return selector.key === 'iifname' || selector.key === 'oifname' ? selector.key : `meta ${selector.key}`;
    case 'ct':
      return `ct ${selector.key}`;
    case 'fib':
      return `fib ${selector.of} ${selector.result}`;
    case 'numgen': {
      const offset =
        selector.offset === undefined || selector.offset === 0 ? '' : ` offset ${selector.offset}`;
      return `numgen ${selector.mode} mod ${selector.mod}${offset}`;
    }
  }
}

/** A concatenation in nft syntax. */
export const selectorsText = (selectors: readonly Selector[]): string =>
  selectors.map(selectorText).join(' . ');
