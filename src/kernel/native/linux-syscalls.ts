import { type ForeignFunction, loadKoffi } from './koffi.ts';
import type { ReadableWatcher, Syscalls } from './syscalls.ts';

// asm-generic/socket.h; the same on every architecture that Node runs on.
const SOL_SOCKET = 1;
const SO_ATTACH_FILTER = 26;
/** Bytes of struct sock_filter (linux/filter.h). */
const INSTRUCTION_LENGTH = 8;

let bound: (Syscalls & ReadableWatcher) | undefined;

/** The C library's calls. The library is loaded on the first call of this function, not on import. */
export function linuxSyscalls(): Syscalls & ReadableWatcher {
  bound ??= bindSyscalls();
  return bound;
}

function bindSyscalls(): Syscalls & ReadableWatcher {
  const koffi = loadKoffi();
  const libc = koffi.load(null);
  const socket = libc.func('socket', 'int', ['int', 'int', 'int']);
  const bind = libc.func('bind', 'int', ['int', 'void *', 'uint32_t']);
  const getsockname = libc.func('getsockname', 'int', ['int', 'void *', 'void *']);
  const setsockopt = libc.func('setsockopt', 'int', ['int', 'int', 'int', 'void *', 'uint32_t']);
  const getsockopt = libc.func('getsockopt', 'int', ['int', 'int', 'int', 'void *', 'void *']);
  const send = libc.func('send', 'long', ['int', 'void *', 'size_t', 'int']);
  const recvfrom = libc.func('recvfrom', 'long', ['int', 'void *', 'size_t', 'int', 'void *', 'void *']);
  const memmove = libc.func('memmove', 'uintptr_t', ['void *', 'void *', 'size_t']);
  const close = libc.func('close', 'int', ['int']);
  const setns = libc.func('setns', 'int', ['int', 'int']);

  const length = new Uint32Array(1);
  const result = (value: number): number => (value >= 0 ? value : -koffi.errno());

  const inBackground = (call: ForeignFunction, ...parameters: unknown[]): Promise<number> =>
    new Promise((resolve) => {
      call.async(...parameters, (_error: unknown, value: number) => resolve(result(value)));
    });

  return {
    socket: (domain, type, protocol) => result(socket(domain, type, protocol)),
    bind: (fd, address) => result(bind(fd, address, address.length)),
    getsockname(fd, address) {
      length[0] = address.length;
      const status = result(getsockname(fd, address, length));
      return status < 0 ? status : length[0]!;
    },
    setsockopt: (fd, level, option, value) => result(setsockopt(fd, level, option, value, value.length)),
    attachFilter(fd, program) {
      // The option's value points to the program, so that has to stay where it is: outside of the engine's heap.
      const pinned = Buffer.allocUnsafeSlow(program.length);
      pinned.set(program);
      // struct sock_fprog: the number of instructions (16 bits), and their address, which memmove returns.
      const value = new BigUint64Array([0n, BigInt(memmove(pinned, pinned, 0))]);
      new Uint16Array(value.buffer)[0] = program.length / INSTRUCTION_LENGTH;
      const bytes = new Uint8Array(value.buffer);
      return result(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, bytes, bytes.length));
    },
    getsockopt(fd, level, option, value) {
      length[0] = value.length;
      const status = result(getsockopt(fd, level, option, value, length));
      return status < 0 ? status : length[0]!;
    },
    send: (fd, data, flags) => result(send(fd, data, data.length, flags)),
    recvfrom(fd, buffer, flags, sender) {
      length[0] = sender.length;
      return result(recvfrom(fd, buffer, buffer.length, flags, sender, length));
    },
    sendInBackground: (fd, data, flags) => inBackground(send, fd, data, data.length, flags),
    recvfromInBackground: (fd, buffer, flags, sender) =>
      // A length of its own: other calls go on meanwhile.
      inBackground(recvfrom, fd, buffer, buffer.length, flags, sender, Uint32Array.of(sender.length)),
    close: (fd) => result(close(fd)),
    setns: (fd, namespaceType) => result(setns(fd, namespaceType)),

    // libuv watches the descriptor in the loop's own epoll set: no thread, nothing that could hold up process.exit.
    // koffi calls back without a callback scope, so promise jobs queued there would wait for the next event;
    // setImmediate runs right after, in a scope of its own.
    watchReadable(fd, onReadable) {
      let scheduled = false;
      const run = () => {
        scheduled = false;
        if (openWatches.has(close)) onReadable();
      };
      const handle = koffi.node.poll(fd, { readable: true }, () => {
        if (scheduled) return;
        scheduled = true;
        setImmediate(run);
      });
      handle.unref();
      const close = () => {
        if (openWatches.delete(close)) handle.close();
      };
      closeAtExit(close);
      return { close };
    },
  };
}

const openWatches = new Set<() => void>();
let hooked = false;

/** A watch that fires while Node takes itself down would call into an engine that is gone, and abort the process. */
function closeAtExit(close: () => void): void {
  openWatches.add(close);
  if (hooked) return;
  hooked = true;
  process.once('exit', () => {
    for (const closeWatch of openWatches) closeWatch();
  });
}
