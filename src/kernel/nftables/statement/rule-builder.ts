import { DATA_TYPES } from '../data-type.ts';
import type { Expr } from '../expr/expr.ts';
import { type Slot, slotsFor } from '../expr/register.ts';
import type { Family, NftMap, NftSet } from '../objects.ts';
import type { PackedElements } from '../packed-elements.ts';
import type { Selector } from '../selector/selector.ts';
import { loadSelector } from '../selector/selector-expr.ts';
import { selectorType } from '../selector/selector-type.ts';

/** A set that exists for one rule: sent before the rule, and known to it by a number within the transaction. */
export interface AnonymousDefinition {
  readonly id: number;
  readonly set: NftSet | NftMap;
  readonly rows: PackedElements;
}

/** What a rule compiles to. Statements append to it; each starts with all registers free. */
export class RuleBuilder {
  readonly family: Family;
  readonly exprs: Expr[] = [];
  readonly anonymous: AnonymousDefinition[] = [];
  readonly #nextSetId: () => number;

  /** `nextSetId` numbers the anonymous sets; unique within the transaction. */
  constructor(family: Family, nextSetId: () => number) {
    this.family = family;
    this.#nextSetId = nextSetId;
  }

  emit(expr: Expr): void {
    this.exprs.push(expr);
  }

  /** Loads a concatenation into adjacent registers from `start` on and returns the first free one. */
  load(selectors: readonly Selector[], start: Slot = 0): Slot {
    let slot = start;
    for (const selector of selectors) {
      this.emit(loadSelector(selector, this.family, slot));
      slot += slotsFor(DATA_TYPES[selectorType(selector)].length);
    }
    return slot;
  }

  /** Registers a set written in place; the kernel gives it a name of its own. */
  addAnonymous(set: NftSet | NftMap, rows: PackedElements): { readonly set: string; readonly setId: number } {
    const id = this.#nextSetId();
    this.anonymous.push({ id, set, rows });
    return { set: set.name, setId: id };
  }
}

/** Names the kernel completes with a number (nf_tables_api.c, nf_tables_set_alloc_name). */
export const ANONYMOUS_SET = '__set%d';
export const ANONYMOUS_MAP = '__map%d';

/** Whether a name is one the kernel gave to an anonymous set or map. */
export const isAnonymousName = (name: string): boolean => /^__(set|map)([0-9]+|%d)$/.test(name);
