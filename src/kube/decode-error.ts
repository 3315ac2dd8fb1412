import { FairleadError } from '../base/fairlead-error.ts';

/** Why bytes from an API server could not be read. `offset` counts bytes from the start of what was decoded. */
export type DecodeErrorDetail =
  /** A field, a frame or the whole body ends before its stated length. */
  | { readonly code: 'DECODE_TRUNCATED'; readonly offset: number }
  /** A frame that has arrived whole and whose content ends before the lengths stated in it. */
  | { readonly code: 'DECODE_BAD_FRAME'; readonly offset: number }
  /** A varint of more than ten bytes. */
  | { readonly code: 'DECODE_VARINT_TOO_LONG'; readonly offset: number }
  /** A wire type that protobuf does not know, a group, or another type than the field has. */
  | {
      readonly code: 'DECODE_WIRE_TYPE';
      readonly offset: number;
      readonly field: number;
      readonly wireType: number;
    }
  /** The four bytes `k8s\0` are missing. */
  | { readonly code: 'DECODE_NO_MAGIC'; readonly offset: number }
  /** A frame or item larger than the limit; nothing of that size is allocated. */
  | {
      readonly code: 'DECODE_TOO_LARGE';
      readonly offset: number;
      readonly bytes: number;
      readonly limit: number;
    }
  | { readonly code: 'DECODE_UNEXPECTED_KIND'; readonly expected: string; readonly got: string }
  | { readonly code: 'DECODE_UNKNOWN_EVENT'; readonly type: string }
  /** The text is no JSON. */
  | { readonly code: 'DECODE_JSON_SYNTAX'; readonly offset: number }
  /** A JSON value has another type than the API defines, or a required one is missing; `path` as in `spec.ports[1].port`. */
  | { readonly code: 'DECODE_JSON_TYPE'; readonly path: string; readonly expected: string }
  /** An object without the name (or namespace) that its kind requires. */
  | { readonly code: 'DECODE_NO_NAME'; readonly kind: string };

/** Raised by all decoders of src/kube, and by them only this one. */
export class DecodeError extends FairleadError<DecodeErrorDetail> {
  constructor(detail: DecodeErrorDetail, options?: ErrorOptions) {
    super(detail, messageOf(detail), options);
  }
}

function messageOf(detail: DecodeErrorDetail): string {
  switch (detail.code) {
    case 'DECODE_TRUNCATED':
      return `data ends early at byte ${detail.offset}`;
    case 'DECODE_BAD_FRAME':
      return `the content of the frame at byte ${detail.offset} ends early`;
    case 'DECODE_VARINT_TOO_LONG':
      return `varint longer than ten bytes at byte ${detail.offset}`;
    case 'DECODE_WIRE_TYPE':
      return `field ${detail.field} has wire type ${detail.wireType} at byte ${detail.offset}`;
    case 'DECODE_NO_MAGIC':
      return `no Kubernetes protobuf envelope at byte ${detail.offset}`;
    case 'DECODE_TOO_LARGE':
      return `${detail.bytes} bytes at byte ${detail.offset} exceed the limit of ${detail.limit}`;
    case 'DECODE_UNEXPECTED_KIND':
      return `expected ${detail.expected}, got ${detail.got}`;
    case 'DECODE_UNKNOWN_EVENT':
      return `unknown watch event type ${JSON.stringify(detail.type)}`;
    case 'DECODE_JSON_SYNTAX':
      return `invalid JSON at byte ${detail.offset}`;
    case 'DECODE_JSON_TYPE':
      return `${detail.path === '' ? 'object' : detail.path}: expected ${detail.expected}`;
    case 'DECODE_NO_NAME':
      return `${detail.kind} without a name or namespace`;
  }
}
