/** Whether this machine stores the low byte first. Netlink headers and most families use the host's order. */
export const hostIsLittleEndian: boolean = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Reads a 16 bit number in host order. */
export function readHostU16(bytes: Buffer, at: number): number {
  return hostIsLittleEndian ? bytes.readUInt16LE(at) : bytes.readUInt16BE(at);
}

/** Reads a 32 bit number in host order. */
export function readHostU32(bytes: Buffer, at: number): number {
  return hostIsLittleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
}

/** Reads a signed 32 bit number in host order, e.g. the errno of an NLMSG_ERROR. */
export function readHostI32(bytes: Buffer, at: number): number {
  return hostIsLittleEndian ? bytes.readInt32LE(at) : bytes.readInt32BE(at);
}

/** Writes a 16 bit number in host order. */
export function writeHostU16(bytes: Buffer, value: number, at: number): void {
  if (hostIsLittleEndian) bytes.writeUInt16LE(value, at);
  else bytes.writeUInt16BE(value, at);
}

/** Writes a 32 bit number in host order. */
export function writeHostU32(bytes: Buffer, value: number, at: number): void {
  if (hostIsLittleEndian) bytes.writeUInt32LE(value, at);
  else bytes.writeUInt32BE(value, at);
}

/** 32 bits in host order. */
export function hostU32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  writeHostU32(bytes, value >>> 0, 0);
  return bytes;
}
