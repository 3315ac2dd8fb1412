import { decodeTlvs, TlvWriter, tlvText } from './tlv.ts';

/** Longest comment in bytes; nft reserves 128 with the terminating zero. */
const MAX_COMMENT = 127;

/** Type of the comment in the user data of tables, chains, rules and elements. */
export const UDATA_COMMENT = 0;

/** A comment as nft keeps it: cut at a character to 127 bytes; quotes, which nft cannot print, become apostrophes. */
export function cutComment(text: string): string {
  if (isPlainComment(text)) return text;
  const clean = text.replaceAll('"', "'").replaceAll(/[\0\n]/g, ' ');
  const bytes = Buffer.from(clean);
  if (bytes.length <= MAX_COMMENT) return clean;
  let end = MAX_COMMENT;
  // Do not cut inside a UTF-8 sequence.
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}

/** Whether a comment needs neither cutting nor replacing, and has one byte per character. */
export const isPlainComment = (text: string): boolean =>
  text.length <= MAX_COMMENT && /^[ !#-~]*$/.test(text);

/** User data of a table, chain, rule or element with a comment. */
export function commentUserdata(comment: string): Buffer {
  return new TlvWriter().text(UDATA_COMMENT, cutComment(comment)).finish();
}

/** The comment in user data of a table, chain, rule or element. */
export function userdataComment(data: Buffer): string | undefined {
  const tlvs = decodeTlvs(data);
  return tlvs && tlvText(tlvs, UDATA_COMMENT);
}

/** ` comment "…"` or nothing. */
export const commentText = (comment: string | undefined): string =>
  comment === undefined ? '' : ` comment "${cutComment(comment)}"`;
