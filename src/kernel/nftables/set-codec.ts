import type { AttributeReader } from '../netlink/attribute-reader.ts';
import type { AttributeWriter } from '../netlink/attribute-writer.ts';
import { cutComment } from './comment.ts';
import * as nft from './constants.ts';
import { DATA_TYPES, type DataType, dataTypeById } from './data-type.ts';
import { decodeExpr, encodeExpr } from './expr/expr.ts';
import { layoutLength, layoutTypeId, layoutTypes } from './layout.ts';
import { invalidValue } from './nftables-error.ts';
import type { Layout, NftMap, NftSet, SetFlag } from './objects.ts';
import { CONCATENATION, decodeTypeof, encodeTypeof } from './selector/selector-userdata.ts';
import { decodeTlvs, TlvWriter, tlvText } from './tlv.ts';

/** nft's user data of sets (libnftnl, enum nftnl_udata_set_types). */
const UDATA_KEY_BYTEORDER = 0;
const UDATA_DATA_BYTEORDER = 1;
const UDATA_MERGE_ELEMENTS = 2;
const UDATA_KEY_TYPEOF = 3;
const UDATA_DATA_TYPEOF = 4;
const UDATA_DATA_INTERVAL = 6;
const UDATA_COMMENT = 7;

/** nft's enum byteorder. */
const BYTEORDER_INVALID = 0;
const BYTEORDER_HOST = 1;
const BYTEORDER_BIG = 2;

const FLAG_BITS: Readonly<Record<SetFlag, number>> = {
  constant: nft.NFT_SET_CONSTANT,
  interval: nft.NFT_SET_INTERVAL,
  timeout: nft.NFT_SET_TIMEOUT,
  dynamic: nft.NFT_SET_EVAL,
};

/** The most user data the kernel takes for one object (NFT_USERDATA_MAXLEN). */
const MAX_USERDATA = 256;

/** Appends the attributes of NFT_MSG_NEWSET. `id` is unique among the sets of the transaction. */
export function encodeSet(
  writer: AttributeWriter,
  table: string,
  set: NftSet | NftMap,
  id: number,
  anonymous = false,
): void {
  const keyTypes = layoutTypes(set.key);
  const isMap = set.kind === 'map';
  let flags = (anonymous ? nft.NFT_SET_ANONYMOUS : 0) | (isMap ? nft.NFT_SET_MAP : 0);
  for (const flag of set.flags ?? []) flags |= FLAG_BITS[flag];
  if (keyTypes.length === 0) writer.fail('a key has at least one field', 'key');
  if (flags & nft.NFT_SET_INTERVAL && keyTypes.length > 1) writer.fail('intervals have one field', 'key');
  writer.addString(nft.NFTA_SET_TABLE, table);
  writer.addString(nft.NFTA_SET_NAME, set.name);
  writer.addU32be(nft.NFTA_SET_FLAGS, flags);
  writer.addU32be(nft.NFTA_SET_KEY_TYPE, layoutTypeId(keyTypes));
  writer.addU32be(nft.NFTA_SET_KEY_LEN, layoutLength(keyTypes));
  if (isMap) {
    const types = set.data === 'verdict' ? undefined : layoutTypes(set.data);
    writer.addU32be(nft.NFTA_SET_DATA_TYPE, types === undefined ? nft.NFT_DATA_VERDICT : layoutTypeId(types));
    writer.addU32be(nft.NFTA_SET_DATA_LEN, types === undefined ? 0 : layoutLength(types));
  }
  writer.addU32be(nft.NFTA_SET_ID, id);
  if (set.size !== undefined) {
    const description = writer.beginNested(nft.NFTA_SET_DESC, 'description');
    writer.addU32be(nft.NFTA_SET_DESC_SIZE, set.size);
    writer.endNested(description);
  }
  if (set.timeoutMs !== undefined) writer.addU64be(nft.NFTA_SET_TIMEOUT, BigInt(Math.ceil(set.timeoutMs)));
  writer.addBytes(nft.NFTA_SET_USERDATA, setUserdata(set, anonymous));
  if (set.counter === true) {
    const expr = writer.beginNested(nft.NFTA_SET_EXPR, 'counter');
    encodeExpr(writer, { kind: 'counter', packets: 0n, bytes: 0n });
    writer.endNested(expr);
  }
}

/** A set as the kernel lists it, with the lengths that hold even where its types are not known here. */
export interface DecodedSet {
  readonly set: NftSet | NftMap;
  readonly table: string;
  readonly anonymous: boolean;
  readonly keyLength: number;
  readonly dataLength: number;
}

/** Reads NFT_MSG_NEWSET. Fields of types that are not known here make a layout without fields. */
export function decodeSet(reader: AttributeReader): DecodedSet {
  let table = '';
  let name = '';
  let flags = 0;
  let keyType = 0;
  let keyLength = 0;
  let dataType = 0;
  let dataLength = 0;
  let size = 0;
  let timeoutMs = 0;
  let counter = false;
  let userdata: ReadonlyMap<number, Buffer> = new Map();
  while (reader.next()) {
    switch (reader.type) {
      case nft.NFTA_SET_TABLE:
        table = reader.string();
        break;
      case nft.NFTA_SET_NAME:
        name = reader.string();
        break;
      case nft.NFTA_SET_FLAGS:
        flags = reader.u32be();
        break;
      case nft.NFTA_SET_KEY_TYPE:
        keyType = reader.u32be();
        break;
      case nft.NFTA_SET_KEY_LEN:
        keyLength = reader.u32be();
        break;
      case nft.NFTA_SET_DATA_TYPE:
        dataType = reader.u32be();
        break;
      case nft.NFTA_SET_DATA_LEN:
        dataLength = reader.u32be();
        break;
      case nft.NFTA_SET_DESC: {
        const description = reader.nested('description');
        while (description.next()) {
          if (description.type === nft.NFTA_SET_DESC_SIZE) size = description.u32be();
        }
        break;
      }
      case nft.NFTA_SET_TIMEOUT:
        timeoutMs = Number(reader.u64be());
        break;
      case nft.NFTA_SET_USERDATA:
        userdata = decodeTlvs(reader.copy()) ?? userdata;
        break;
      case nft.NFTA_SET_EXPR:
        counter ||= decodeExpr(reader.nested('counter')).kind === 'counter';
        break;
      case nft.NFTA_SET_EXPRESSIONS: {
        const list = reader.nested('expressions');
        while (list.next()) counter ||= decodeExpr(list.nested('expression')).kind === 'counter';
        break;
      }
    }
  }
  const names = (Object.keys(FLAG_BITS) as SetFlag[]).filter((flag) => (flags & FLAG_BITS[flag]) !== 0);
  const comment = tlvText(userdata, UDATA_COMMENT);
  const common = {
    name,
    key: layoutOf(userdata.get(UDATA_KEY_TYPEOF), keyType, keyLength),
    ...(names.length === 0 ? {} : { flags: names }),
    ...(timeoutMs === 0 ? {} : { timeoutMs }),
    ...(size === 0 ? {} : { size }),
    ...(counter ? { counter } : {}),
    ...(comment === undefined ? {} : { comment }),
  };
  const isVerdict = dataType === nft.NFT_DATA_VERDICT;
  const set: NftSet | NftMap =
    (flags & nft.NFT_SET_MAP) === 0
      ? { kind: 'set', ...common }
      : {
          kind: 'map',
          ...common,
          data: isVerdict ? 'verdict' : layoutOf(userdata.get(UDATA_DATA_TYPEOF), dataType, dataLength),
        };
  return {
    set,
    table,
    anonymous: (flags & nft.NFT_SET_ANONYMOUS) !== 0,
    keyLength,
    dataLength: isVerdict ? 0 : dataLength,
  };
}

function setUserdata(set: NftSet | NftMap, anonymous: boolean): Buffer {
  const tlvs = new TlvWriter().u32(UDATA_KEY_BYTEORDER, byteOrder(set.key));
  if (set.kind === 'map') {
    tlvs.u32(UDATA_DATA_BYTEORDER, set.data === 'verdict' ? BYTEORDER_INVALID : byteOrder(set.data));
  }
  // Intervals written in place have been merged where they touch.
  if (anonymous && set.flags?.includes('interval') === true) tlvs.u32(UDATA_MERGE_ELEMENTS, 1);
  addTypeof(tlvs, UDATA_KEY_TYPEOF, set.key, set.name);
  if (set.kind === 'map' && set.data !== 'verdict') addTypeof(tlvs, UDATA_DATA_TYPEOF, set.data, set.name);
  if (set.kind === 'map') tlvs.u32(UDATA_DATA_INTERVAL, 0);
  const base = tlvs.finish();
  if (set.comment === undefined) return base;
  // Long keys leave less room for the comment than nft would give it.
  let comment = cutComment(set.comment);
  while (base.length + 3 + Buffer.byteLength(comment) > MAX_USERDATA) comment = comment.slice(0, -1);
  return tlvs.text(UDATA_COMMENT, comment).finish();
}

function addTypeof(tlvs: TlvWriter, type: number, layout: Layout, name: string): void {
  if (!('typeof' in layout)) {
    if (layout.type.length > 1) tlvs.bytes(type, CONCATENATION);
    return;
  }
  const data = encodeTypeof(layout.typeof);
  // Without it nft still lists single fields by their type; a concatenation with `numgen` it could not read back.
  if (data !== undefined) tlvs.bytes(type, data);
  else if (layout.typeof.length > 1) throw invalidValue(`set ${name}`, 'typeof', 'a list nft can remember');
}

/** Concatenations have no byte order of their own. */
function byteOrder(layout: Layout): number {
  const types = layoutTypes(layout);
  if (types.length !== 1) return BYTEORDER_INVALID;
  return DATA_TYPES[types[0]!].order === 'big' ? BYTEORDER_BIG : BYTEORDER_HOST;
}

function layoutOf(typeOf: Buffer | undefined, typeId: number, length: number): Layout {
  const selectors = typeOf && decodeTypeof(typeOf);
  if (selectors !== undefined && layoutLength(layoutTypes({ typeof: selectors })) === length) {
    return { typeof: selectors };
  }
  const types: DataType[] = [];
  for (let rest = typeId; rest > 0; rest = Math.floor(rest / 64)) {
    const type = dataTypeById(rest % 64);
    if (type === undefined) return { type: [] };
    types.unshift(type);
  }
  return types.length > 0 && layoutLength(types) === length ? { type: types } : { type: [] };
}
