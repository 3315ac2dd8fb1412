import { writeHostU16, writeHostU32 } from './byte-order.ts';

// linux/bpf_common.h, linux/filter.h
const BPF_LD_W_ABS = 0x20;
const BPF_JEQ_K = 0x15;
const BPF_RET_K = 0x06;
/** Offset of nlmsg_pid in struct nlmsghdr. */
const MESSAGE_PORT = 12;

/** A socket filter (an array of struct sock_filter): datagrams whose first message carries this port are dropped, all others are taken whole. */
export function dropMessagesFrom(portId: number): Uint8Array {
  const port = Buffer.alloc(4);
  writeHostU32(port, portId, 0);
  const instructions = [
    { code: BPF_LD_W_ABS, ifFalse: 0, value: MESSAGE_PORT },
    // The word was loaded as a big-endian number.
    { code: BPF_JEQ_K, ifFalse: 1, value: port.readUInt32BE(0) },
    { code: BPF_RET_K, ifFalse: 0, value: 0 },
    { code: BPF_RET_K, ifFalse: 0, value: 0xffff_ffff },
  ];
  const program = Buffer.alloc(instructions.length * 8);
  for (const [i, { code, ifFalse, value }] of instructions.entries()) {
    writeHostU16(program, code, i * 8);
    program[i * 8 + 3] = ifFalse;
    writeHostU32(program, value, i * 8 + 4);
  }
  return program;
}
