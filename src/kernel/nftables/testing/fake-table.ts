import { EBUSY, EEXIST, EINVAL, ENOENT, EOPNOTSUPP, ERANGE } from '../../native/errno.ts';
import { layoutLength, layoutTypeId, layoutTypes } from '../layout.ts';
import type {
  Chain,
  Elements,
  Family,
  Layout,
  NftMap,
  NftObject,
  NftSet,
  ObjectName,
  Rule,
} from '../objects.ts';
import { PackedElements } from '../packed-elements.ts';
import type { TableListing } from '../table-listing.ts';
import { verdictChain } from '../verdict.ts';
import { ruleChains, ruleSets } from './rule-references.ts';

const ENFILE = 23;
const MAX_NAME = 255;
/** What nft_dynset.c limits a set of no size to. */
const DYNAMIC_SIZE = 0xffff;

/** An operation the kernel would refuse. */
export class Refusal extends Error {
  readonly errno: number;

  constructor(errno: number, message: string) {
    super(message);
    this.errno = errno;
  }
}

interface FakeSet {
  readonly set: NftSet | NftMap;
  /** One row each, by key. */
  readonly elements: Map<string, PackedElements>;
}

interface FakeChain {
  readonly chain: Chain;
  readonly rules: readonly Rule[];
}

/** One table of the fake kernel. Operations change it in place; the caller works on a copy and throws it away on failure. */
export class FakeTable {
  readonly family: Family;
  readonly name: string;
  comment: string | undefined;
  dormant = false;
  readonly chains: Map<string, FakeChain>;
  readonly sets: Map<string, FakeSet>;
  /** Chains that count as used because an element led to them until a moment ago. */
  readonly lingering: Set<string>;
  /** Sets that this copy owns; others are shared with the original until they are touched. */
  readonly #own = new Set<string>();
  /** The transaction has hooked base chains in or out as a whole. */
  #switched = false;
  #handle: bigint;

  constructor(family: Family, name: string, original?: FakeTable) {
    this.family = family;
    this.name = name;
    this.comment = original?.comment;
    this.dormant = original?.dormant ?? false;
    this.chains = new Map(original?.chains);
    this.sets = new Map(original?.sets);
    this.lingering = new Set(original?.lingering);
    this.#handle = original === undefined ? 1n : original.#handle;
  }

  copy(): FakeTable {
    return new FakeTable(this.family, this.name, this);
  }

  setDormant(dormant: boolean): void {
    if (dormant === this.dormant) return;
    if (this.#switched) throw new Refusal(EINVAL, 'a table falls asleep or wakes once');
    this.dormant = dormant;
    this.#switched = true;
  }

  add(object: Exclude<NftObject, { kind: 'table' }>, exclusive: boolean): void {
    switch (object.kind) {
      case 'chain':
        this.#addChain(object, exclusive);
        break;
      case 'set':
      case 'map':
        this.#addSet(object, exclusive);
        break;
      case 'rule':
        this.#addRule(object);
        break;
      case 'elements':
        for (let row = 0; row < object.rows.count; row++) this.#addElement(object, row, exclusive);
        break;
    }
  }

  delete(object: Exclude<ObjectName, { kind: 'table' }> | Elements): void {
    switch (object.kind) {
      case 'chain':
        this.#chain(object.name);
        if (this.#isChainUsed(object.name)) throw new Refusal(EBUSY, `chain ${object.name} is in use`);
        this.chains.delete(object.name);
        break;
      case 'set':
      case 'map':
        this.#set(object.name);
        if (this.#isSetUsed(object.name)) throw new Refusal(EBUSY, `set ${object.name} is in use`);
        for (const element of this.#set(object.name).elements.values()) this.#linger(element);
        this.sets.delete(object.name);
        break;
      case 'rule': {
        const { chain, rules } = this.#chain(object.chain);
        const left = rules.filter((rule) => rule.handle !== object.handle);
        if (left.length === rules.length) throw new Refusal(ENOENT, `no rule with handle ${object.handle}`);
        this.chains.set(object.chain, { chain, rules: left });
        break;
      }
      case 'elements': {
        const { elements } = this.#ownSet(object.of.name);
        for (let row = 0; row < object.rows.count; row++) {
          const key = object.rows.keyText(row);
          const element = elements.get(key);
          if (element === undefined) throw new Refusal(ENOENT, `no such element in ${object.of.name}`);
          this.#linger(element);
          elements.delete(key);
        }
        break;
      }
    }
  }

  flush(object: ObjectName): void {
    if (object.kind === 'set' || object.kind === 'map') {
      const { elements } = this.#ownSet(object.name);
      for (const element of elements.values()) this.#linger(element);
      elements.clear();
      return;
    }
    if (object.kind === 'rule') {
      this.delete(object);
      return;
    }
    const names = object.kind === 'chain' ? [object.name] : [...this.chains.keys()];
    for (const name of names) this.chains.set(name, { chain: this.#chain(name).chain, rules: [] });
  }

  /** The table as a listing reads it. */
  listing(): TableListing {
    const sets = new Map<string, { set: NftSet | NftMap; rows: PackedElements }>();
    for (const [name, { set, elements }] of this.sets) {
      const rows = PackedElements.for(set, elements.size);
      for (const element of elements.values()) rows.append(element, 0);
      sets.set(name, { set, rows });
    }
    return {
      family: this.family,
      table: this.name,
      ...(this.comment === undefined ? {} : { comment: this.comment }),
      ...(this.dormant ? { dormant: true } : {}),
      chains: this.chains,
      sets,
    };
  }

  #addChain(chain: Chain, exclusive: boolean): void {
    checkName(chain.name);
    const existing = this.chains.get(chain.name);
    if (existing === undefined) {
      if (chain.base !== undefined && this.#switched)
        throw new Refusal(EINVAL, `base chain ${chain.name} comes with a table that falls asleep or wakes`);
      this.chains.set(chain.name, { chain, rules: [] });
      return;
    }
    if (exclusive) throw new Refusal(EEXIST, `chain ${chain.name} exists`);
    if (chain.base === undefined) return;
    const { base } = existing.chain;
    const same =
      base?.type === chain.base.type &&
      base.hook === chain.base.hook &&
      base.priority === chain.base.priority;
    if (!same) throw new Refusal(EOPNOTSUPP, `chain ${chain.name} exists with other properties`);
    const updated = { ...existing.chain, base: chain.base };
    this.chains.set(chain.name, { chain: updated, rules: existing.rules });
  }

  #addSet(set: NftSet | NftMap, exclusive: boolean): void {
    checkName(set.name);
    const existing = this.sets.get(set.name);
    if (existing !== undefined) {
      if (exclusive || !isSameSet(existing.set, set)) throw new Refusal(EEXIST, `set ${set.name} exists`);
      // Kernels since 6.5 take over a new timeout; nothing else of a set changes.
      if (set.timeoutMs !== undefined) {
        const elements = existing.elements;
        this.sets.set(set.name, { set: { ...existing.set, timeoutMs: set.timeoutMs }, elements });
      }
      return;
    }
    if (set.timeoutMs !== undefined && set.flags?.includes('timeout') !== true) {
      throw new Refusal(EINVAL, `set ${set.name} has a timeout but not the flag`);
    }
    this.sets.set(set.name, { set, elements: new Map() });
    this.#own.add(set.name);
  }

  #addRule(rule: Rule): void {
    const { chain, rules } = this.#chain(rule.chain);
    for (const name of ruleSets(rule)) this.#set(name);
    for (const statement of rule.statements) if (statement.kind === 'update') this.#limit(statement.set);
    for (const name of ruleChains(rule)) this.#chain(name);
    this.chains.set(rule.chain, { chain, rules: [...rules, { ...rule, handle: ++this.#handle }] });
  }

  /** A set that rules add to gets a size with the first of them. */
  #limit(name: string): void {
    const { set, elements } = this.#ownSet(name);
    if (set.size === undefined) this.sets.set(name, { set: { ...set, size: DYNAMIC_SIZE }, elements });
  }

  #addElement({ of, rows }: Elements, row: number, exclusive: boolean): void {
    const { set, elements } = this.#ownSet(of.name);
    const wanted = PackedElements.for(set, 1);
    if (rows.keyLength !== wanted.keyLength || rows.dataLength !== wanted.dataLength) {
      throw new Refusal(EINVAL, `the element does not have the layout of ${set.name}`);
    }
    const verdict = rows.verdicts?.[row];
    if ((set.kind === 'map' && set.data === 'verdict') !== (verdict !== undefined)) {
      throw new Refusal(EINVAL, `an element of ${set.name} with or without a verdict`);
    }
    if (rows.timeoutsMs?.[row] !== undefined && set.flags?.includes('timeout') !== true) {
      throw new Refusal(EINVAL, `set ${set.name} has no timeouts`);
    }
    const target = verdict && verdictChain(verdict);
    if (target !== undefined && this.#chain(target).chain.base !== undefined) {
      throw new Refusal(EOPNOTSUPP, `${target} is a base chain`);
    }
    const key = rows.keyText(row);
    const existing = elements.get(key);
    if (existing === undefined) {
      if (elements.size >= (set.size ?? Number.POSITIVE_INFINITY)) {
        throw new Refusal(ENFILE, `set ${set.name} is full`);
      }
      elements.set(key, wanted.append(rows, row));
      return;
    }
    const same = existing.verdicts?.[0] === verdict && existing.data(0).equals(rows.data(row));
    if (exclusive || !same) throw new Refusal(EEXIST, `the element exists in ${set.name}`);
  }

  #chain(name: string): FakeChain {
    const found = this.chains.get(name);
    if (found === undefined) throw new Refusal(ENOENT, `no chain ${name}`);
    return found;
  }

  #set(name: string): FakeSet {
    const found = this.sets.get(name);
    if (found === undefined) throw new Refusal(ENOENT, `no set ${name}`);
    return found;
  }

  #ownSet(name: string): FakeSet {
    const found = this.#set(name);
    if (this.#own.has(name)) return found;
    const own = { set: found.set, elements: new Map(found.elements) };
    this.sets.set(name, own);
    this.#own.add(name);
    return own;
  }

  #linger({ verdicts }: PackedElements): void {
    const target = verdicts?.[0] && verdictChain(verdicts[0]);
    if (target !== undefined) this.lingering.add(target);
  }

  #isChainUsed(name: string): boolean {
    if (this.lingering.has(name)) return true;
    for (const [from, { rules }] of this.chains) {
      if (from !== name && rules.some((rule) => ruleChains(rule).includes(name))) return true;
    }
    for (const { elements } of this.sets.values()) {
      for (const element of elements.values()) {
        const verdict = element.verdicts?.[0];
        if (verdict !== undefined && verdictChain(verdict) === name) return true;
      }
    }
    return false;
  }

  #isSetUsed(name: string): boolean {
    for (const { rules } of this.chains.values()) {
      if (rules.some((rule) => ruleSets(rule).includes(name))) return true;
    }
    return false;
  }
}

function checkName(name: string): void {
  if (Buffer.byteLength(name) > MAX_NAME) throw new Refusal(ERANGE, 'the name is too long');
}

function isSameSet(a: NftSet | NftMap, b: NftSet | NftMap): boolean {
  const flags = (set: NftSet | NftMap) => [...(set.flags ?? [])].sort().join();
  const data = (set: NftSet | NftMap) => {
    if (set.kind === 'set') return '';
    return set.data === 'verdict' ? 'verdict' : layoutKey(set.data);
  };
  return (
    a.kind === b.kind && layoutKey(a.key) === layoutKey(b.key) && data(a) === data(b) && flags(a) === flags(b)
  );
}

function layoutKey(layout: Layout): string {
  const types = layoutTypes(layout);
  return `${layoutTypeId(types)}/${layoutLength(types)}`;
}
