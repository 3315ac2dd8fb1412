import type { Expr } from '../expr/expr.ts';
import { type Slot, slotsFor } from '../expr/register.ts';
import type { Family, NftMap, NftSet } from '../objects.ts';
import type { PackedElements } from '../packed-elements.ts';
import type { Selector } from '../selector/selector.ts';
import { type Load, recognizeLoad } from '../selector/selector-expr.ts';

/** The set behind a name, for those the kernel named itself. */
export type AnonymousResolver = (
  name: string,
) => { readonly set: NftSet | NftMap; readonly rows: PackedElements } | undefined;

/** Adjacent loads that end up as one key. */
export interface Key {
  readonly selectors: readonly Selector[];
  readonly loads: readonly Load[];
  readonly slot: Slot;
}

/** Walks the expressions of a rule. Recognisers read on from it and say `undefined` when it is not theirs. */
export class ExprCursor {
  readonly family: Family;
  readonly exprs: readonly Expr[];
  readonly resolve: AnonymousResolver;
  index = 0;

  constructor(family: Family, exprs: readonly Expr[], resolve: AnonymousResolver) {
    this.family = family;
    this.exprs = exprs;
    this.resolve = resolve;
  }

  get done(): boolean {
    return this.index >= this.exprs.length;
  }

  /** The next expression if it is of this kind, and steps over it. */
  take<Kind extends Expr['kind']>(kind: Kind): Extract<Expr, { kind: Kind }> | undefined {
    const expr = this.exprs[this.index];
    if (expr?.kind !== kind) return undefined;
    this.index++;
    return expr as Extract<Expr, { kind: Kind }>;
  }

  /** One or more loads into adjacent registers. */
  takeKey(): Key | undefined {
    const loads: Load[] = [];
    let next: Slot | undefined;
    for (;;) {
      const expr = this.exprs[this.index];
      const load = expr && recognizeLoad(expr, this.family);
      if (load === undefined || (next !== undefined && load.slot !== next)) break;
      loads.push(load);
      next = load.slot + slotsFor(load.length);
      this.index++;
    }
    if (loads.length === 0) return undefined;
    return { selectors: loads.map((load) => load.selector), loads, slot: loads[0]!.slot };
  }
}
