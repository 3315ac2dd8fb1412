import koffi from 'koffi';

const AF_NETLINK = 16;
const SOCK_RAW = 3;
const NETLINK_NETFILTER = 12;
const REPLY_BYTES = 4096;

/**
 * Empties the connection tracking table of the network namespace this process is in. Written apart from the code
 * under test, which would else clean up after its own mistakes. Throws when the kernel refuses.
 */
export function flushConntrack(): void {
  const libc = koffi.load('libc.so.6');
  const socket = libc.func('int socket(int domain, int type, int protocol)');
  const send = libc.func('long send(int fd, const void *buffer, size_t length, int flags)');
  const receive = libc.func('long recv(int fd, _Out_ void *buffer, size_t length, int flags)');
  const close = libc.func('int close(int fd)');
  const fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER) as number;
  if (fd < 0) throw new Error('flush conntrack: no netlink socket');
  try {
    const request = Buffer.from(
      [
        '14000000', // nlmsg_len 20
        '0201', // NFNL_SUBSYS_CTNETLINK, IPCTNL_MSG_CT_DELETE; without attributes: all entries
        '0500', // NLM_F_REQUEST | NLM_F_ACK
        '01000000', // sequence
        '00000000', // port id: the kernel fills it in
        '00000000', // AF_UNSPEC, version 0, resource 0
      ].join(''),
      'hex',
    );
    const sent = Number(send(fd, request, request.length, 0));
    const reply = Buffer.alloc(REPLY_BYTES);
    const received = sent === request.length ? Number(receive(fd, reply, reply.length, 0)) : -1;
    if (received < 20) throw new Error('flush conntrack: no answer from the kernel');
    const error = reply.readInt32LE(16);
    if (error !== 0) throw new Error(`flush conntrack: errno ${-error}`);
  } finally {
    close(fd);
  }
}
