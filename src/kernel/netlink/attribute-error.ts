import { FairleadError } from '../../base/fairlead-error.ts';

/** Why netlink attributes could not be written or read; `path` names the attribute, e.g. `rule.expressions[3].lookup.set`. */
export type AttributeErrorDetail =
  /** The value does not fit the attribute, or what is to be sent makes no sense to the kernel. */
  | { readonly code: 'NETLINK_ATTRIBUTE_INVALID'; readonly path: string; readonly reason: string }
  /** A nested list outgrew the 16 bit length field of its attribute. */
  | { readonly code: 'NETLINK_ATTRIBUTE_TOO_LONG'; readonly path: string; readonly length: number }
  /** Received bytes end before the attribute does, or its length is impossible. */
  | {
      readonly code: 'NETLINK_ATTRIBUTE_SHORT';
      readonly path: string;
      readonly need: number;
      readonly got: number;
    };

/** Raised by {@link AttributeWriter.finish} and by {@link AttributeReader}. */
export class AttributeError extends FairleadError<AttributeErrorDetail> {}

/** An error for a value that no attribute can hold. */
export function invalidAttribute(path: string, reason: string): AttributeError {
  return new AttributeError(
    { code: 'NETLINK_ATTRIBUTE_INVALID', path, reason },
    `cannot encode ${path}: ${reason}`,
  );
}

/** An error for an attribute whose length does not fit its 16 bits. */
export function attributeTooLong(path: string, length: number): AttributeError {
  return new AttributeError(
    { code: 'NETLINK_ATTRIBUTE_TOO_LONG', path, length },
    `cannot encode ${path}: ${length} bytes do not fit a netlink attribute (at most 65535)`,
  );
}

/** An error for bytes that end before what they announce. */
export function shortAttribute(path: string, need: number, got: number): AttributeError {
  return new AttributeError(
    { code: 'NETLINK_ATTRIBUTE_SHORT', path, need, got },
    `cannot decode ${path}: ${need} bytes needed, ${got} left`,
  );
}
