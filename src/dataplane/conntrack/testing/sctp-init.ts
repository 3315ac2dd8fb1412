import { ipBytes } from '../../../base/ip.ts';
import { linuxSyscalls } from '../../../kernel/native/linux-syscalls.ts';

const AF_PACKET = 17;
const SOCK_RAW = 3;
const ETH_P_IP = 0x0800;
const IPPROTO_SCTP = 132;

export interface SctpInit {
  readonly source: string;
  readonly sourcePort: number;
  readonly destination: string;
  readonly destinationPort: number;
}

/** An interface to send from: its index, its address, and that of the other end. */
export interface Wire {
  readonly ifindex: number;
  readonly from: string;
  readonly to: string;
}

/**
 * Sends the first packet of an SCTP association over a wire, in the calling thread's network namespace, without an SCTP
 * stack: kernels track the protocol without having one.
 */
export function sendSctpInit(init: SctpInit, { ifindex, from, to }: Wire): void {
  const { socket, bind, send, close } = linuxSyscalls();
  const fd = socket(AF_PACKET, SOCK_RAW, 0);
  if (fd < 0) throw new Error(`packet socket: errno ${-fd}`);
  try {
    const address = Buffer.alloc(20);
    address.writeUInt16LE(AF_PACKET, 0);
    address.writeUInt16BE(ETH_P_IP, 2);
    address.writeInt32LE(ifindex, 4);
    const frame = Buffer.concat([mac(to), mac(from), Buffer.from([ETH_P_IP >> 8, 0]), packet(init)]);
    for (const result of [bind(fd, address), send(fd, frame, 0)])
      if (result < 0) throw new Error(`SCTP INIT: errno ${-result}`);
  } finally {
    close(fd);
  }
}

const mac = (text: string): Buffer => Buffer.from(text.replaceAll(':', ''), 'hex');

/** RFC 791 and RFC 9260, 3.3.2. */
function packet({ source, sourcePort, destination, destinationPort }: SctpInit): Buffer {
  const sctp = Buffer.alloc(12 + 20);
  sctp.writeUInt16BE(sourcePort, 0);
  sctp.writeUInt16BE(destinationPort, 2);
  sctp[12] = 1; // INIT
  sctp.writeUInt16BE(20, 14);
  sctp.writeUInt32BE(0x1234_5678, 16); // initiate tag
  sctp.writeUInt32BE(65_536, 20);
  sctp.writeUInt16BE(1, 24);
  sctp.writeUInt16BE(1, 26);
  sctp.writeUInt32LE(crc32c(sctp), 8);
  const ip = Buffer.alloc(20);
  ip[0] = 0x45;
  ip.writeUInt16BE(ip.length + sctp.length, 2);
  ip[8] = 64;
  ip[9] = IPPROTO_SCTP;
  ip.set(ipBytes(source), 12);
  ip.set(ipBytes(destination), 16);
  let sum = 0;
  for (let at = 0; at < ip.length; at += 2) sum += ip.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  ip.writeUInt16BE(~sum & 0xffff, 10);
  return Buffer.concat([ip, sctp]);
}

function crc32c(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ ((crc & 1) === 0 ? 0 : 0x82f6_3b78);
  }
  return ~crc >>> 0;
}
