import type { AttributeReader } from '../../netlink/attribute-reader.ts';
import type { AttributeWriter } from '../../netlink/attribute-writer.ts';

/** How one kind of kernel expression goes over the wire. */
export interface ExprCodec<Expr> {
  /** The kernel's name (NFTA_EXPR_NAME). */
  readonly name: string;
  /** Appends the attributes of NFTA_EXPR_DATA. */
  encode(writer: AttributeWriter, expr: Expr): void;
  /** Reads them; `undefined` when they say something {@link Expr} has no field for. */
  decode(reader: AttributeReader): Expr | undefined;
}

// linux/netfilter/nf_tables.h, enum nft_data_attributes
export const NFTA_DATA_VALUE = 1;
export const NFTA_DATA_VERDICT = 2;

/** Appends a nested NFTA_DATA_VALUE. */
export function addData(writer: AttributeWriter, type: number, name: string, value: Uint8Array): void {
  const token = writer.beginNested(type, name);
  writer.addBytes(NFTA_DATA_VALUE, value);
  writer.endNested(token);
}

/** Reads a nested NFTA_DATA_VALUE. */
export function readData(reader: AttributeReader, name: string): Buffer {
  const nested = reader.nested(name);
  while (nested.next()) if (nested.type === NFTA_DATA_VALUE) return nested.copy();
  return Buffer.alloc(0);
}
