import { AF_UNSPEC } from '../netlink/address-family.ts';
import { NFGENMSG_LENGTH, NFNETLINK_V0, NLM_F_EXCL, netfilterType } from '../netlink/message.ts';
import { NetlinkConnection } from '../netlink/netlink-connection.ts';
import { isNotFound } from '../netlink/netlink-error.ts';
import { NETLINK_NETFILTER } from '../netlink/netlink-socket.ts';

// linux/netfilter/nfnetlink.h, linux/netfilter/ipset/ip_set.h
const NFNL_SUBSYS_IPSET = 6;
const IPSET_CMD_DESTROY = 3;
const IPSET_ATTR_PROTOCOL = 1;
const IPSET_ATTR_SETNAME = 2;
/** Kernels of all ages still speak it. */
const PROTOCOL = 6;

/** The ipsets of the network namespace that the connection was opened in. Errors are NetlinkError. */
export class IpsetConnection {
  readonly #connection: NetlinkConnection;

  constructor(connection: NetlinkConnection) {
    this.#connection = connection;
  }

  static open(): IpsetConnection {
    return new IpsetConnection(NetlinkConnection.open(NETLINK_NETFILTER));
  }

  /** Removes a set with all it holds; returns whether there was one. Throws where a rule uses it. */
  destroy(name: string): boolean {
    try {
      this.#connection.request({
        op: `destroy ipset ${name}`,
        type: netfilterType(NFNL_SUBSYS_IPSET, IPSET_CMD_DESTROY),
        // Without it the absence of a set is no error (ip_set_destroy).
        flags: NLM_F_EXCL,
        body: (writer) => {
          const at = writer.reserve(NFGENMSG_LENGTH);
          writer.bytes[at] = AF_UNSPEC;
          writer.bytes[at + 1] = NFNETLINK_V0;
          writer.addU8(IPSET_ATTR_PROTOCOL, PROTOCOL);
          writer.addString(IPSET_ATTR_SETNAME, name);
        },
      });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  close(): void {
    this.#connection.close();
  }
}
