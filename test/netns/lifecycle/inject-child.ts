import { readFileSync } from 'node:fs';
import { linuxSyscalls } from '../../../src/kernel/native/linux-syscalls.ts';
import { serveLines } from '../testbed/serve-lines.ts';

/** Run as a program in a namespace: repeats a TCP segment that this side has sent, with another sequence number. */
export type InjectRequest =
  /** Begins to watch what leaves from a port. */
  | { readonly op: 'watch'; readonly device: string; readonly port: number }
  /** Whether a segment with data has been seen. */
  | { readonly op: 'seen' }
  /** Sends the last one again, `shift` bytes later in the stream, with a payload of its own. */
  | { readonly op: 'inject'; readonly shift: number; readonly ttl: number };

// linux/if_packet.h, linux/if_ether.h
const AF_PACKET = 17;
const SOCK_RAW_NONBLOCK = 3 | 0x800;
const ETH_P_ALL = 3;
const PACKET_OUTGOING = 4;
const ETHERNET = 14;
const HEADERS = ETHERNET + 20 + 20;
const PAYLOAD = 64;

const { socket, bind, recvfrom, send, watchReadable } = linuxSyscalls();
let descriptor = -1;
/** Ethernet, IPv4 and TCP headers without options. */
let last: Buffer | undefined;

function watch(device: string, port: number): void {
  descriptor = socket(AF_PACKET, SOCK_RAW_NONBLOCK, ETH_P_ALL << 8);
  const address = Buffer.alloc(20);
  address.writeUInt16LE(AF_PACKET, 0);
  address.writeUInt16BE(ETH_P_ALL, 2);
  address.writeInt32LE(Number(readFileSync(`/sys/class/net/${device}/ifindex`, 'utf8')), 4);
  const status = descriptor < 0 ? descriptor : bind(descriptor, address);
  if (status < 0) throw new Error(`packet socket: errno ${-status}`);
  const buffer = Buffer.alloc(128 * 1024);
  const sender = Buffer.alloc(20);
  watchReadable(descriptor, () => {
    for (;;) {
      const length = recvfrom(descriptor, buffer, 0, sender);
      if (length < 0) return;
      if (sender[10] === PACKET_OUTGOING) keep(buffer.subarray(0, length), port);
    }
  });
}

function keep(frame: Buffer, port: number): void {
  if (frame.length < HEADERS || frame.readUInt16BE(12) !== 0x0800 || frame[ETHERNET + 9] !== 6) return;
  const tcp = ETHERNET + (frame[ETHERNET]! & 15) * 4;
  const data = tcp + (frame[tcp + 12]! >> 4) * 4;
  if (frame.readUInt16BE(tcp) !== port || data >= ETHERNET + frame.readUInt16BE(ETHERNET + 2)) return;
  last = Buffer.concat([frame.subarray(0, ETHERNET + 20), frame.subarray(tcp, tcp + 20)]);
}

function inject(shift: number, ttl: number): void {
  if (last === undefined) throw new Error('no segment was seen');
  const frame = Buffer.concat([last, Buffer.alloc(PAYLOAD, 'y')]);
  const ip = frame.subarray(ETHERNET, ETHERNET + 20);
  const tcp = frame.subarray(ETHERNET + 20);
  ip[0] = 0x45;
  ip.writeUInt16BE(20 + tcp.length, 2);
  ip[8] = ttl;
  ip.writeUInt16BE(0, 10);
  ip.writeUInt16BE(checksum(ip), 10);
  tcp.writeUInt32BE((tcp.readUInt32BE(4) + shift) >>> 0, 4);
  tcp[12] = 5 << 4;
  tcp.writeUInt16BE(0, 16);
  const pseudo = Buffer.concat([ip.subarray(12, 20), Buffer.from([0, 6, 0, tcp.length])]);
  tcp.writeUInt16BE(checksum(Buffer.concat([pseudo, tcp])), 16);
  const status = send(descriptor, frame, 0);
  if (status < 0) throw new Error(`cannot send: errno ${-status}`);
}

/** RFC 1071; an even number of bytes. */
function checksum(data: Buffer): number {
  let sum = 0;
  for (let at = 0; at < data.length; at += 2) sum += data.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

serveLines<InjectRequest>(async (request) => {
  if (request.op === 'watch') watch(request.device, request.port);
  else if (request.op === 'seen') return last !== undefined;
  else inject(request.shift, request.ttl);
  return true;
});
