import { AF_UNSPEC } from '../netlink/address-family.ts';
import type { AttributeWriter } from '../netlink/attribute-writer.ts';
import {
  NFGENMSG_LENGTH,
  NFNETLINK_V0,
  NLM_F_CREATE,
  NLM_F_EXCL,
  netfilterType,
} from '../netlink/message.ts';
import { NetlinkConnection } from '../netlink/netlink-connection.ts';
import { isExists } from '../netlink/netlink-error.ts';
import { NETLINK_NETFILTER } from '../netlink/netlink-socket.ts';

// linux/netfilter/nfnetlink.h, linux/netfilter/nfnetlink_acct.h
const NFNL_SUBSYS_ACCT = 7;
const NFNL_MSG_ACCT_NEW = 0;
const NFNL_MSG_ACCT_GET = 1;
const NFNL_MSG_ACCT_DEL = 3;
const NFACCT_NAME = 1;
const NFACCT_PKTS = 2;
const NFACCT_BYTES = 3;
/** NFACCT_NAME_MAX, with the final zero. */
const NAME_MAX = 32;

const messageType = (command: number): number => netfilterType(NFNL_SUBSYS_ACCT, command);

/** What packets of rules with `-m nfacct --nfacct-name NAME` have added up to. */
export interface PacketCounter {
  readonly packets: bigint;
  readonly bytes: bigint;
}

/**
 * Named packet counters of the network namespace that the connection was opened in. Errors are NetlinkError; kernels
 * without nfnetlink_acct refuse everything. Names are of 1 to 31 characters, longer ones throw RangeError.
 */
export class NfacctConnection {
  readonly #connection: NetlinkConnection;

  constructor(connection: NetlinkConnection) {
    this.#connection = connection;
  }

  static open(): NfacctConnection {
    return new NfacctConnection(NetlinkConnection.open(NETLINK_NETFILTER));
  }

  /** Makes sure that a counter exists; an existing one keeps its value. */
  ensureCounter(name: string): void {
    try {
      this.#connection.request({
        op: `create counter ${name}`,
        type: messageType(NFNL_MSG_ACCT_NEW),
        flags: NLM_F_CREATE | NLM_F_EXCL,
        body: named(name),
      });
    } catch (error) {
      if (!isExists(error)) throw error;
    }
  }

  /** The value of a counter. Throws NetlinkError where there is none. */
  getCounter(name: string): PacketCounter {
    let packets = 0n;
    let bytes = 0n;
    this.#connection.request(
      { op: `get counter ${name}`, type: messageType(NFNL_MSG_ACCT_GET), body: named(name) },
      (message) => {
        const attributes = message.attributes('nfacct');
        while (attributes.next()) {
          if (attributes.type === NFACCT_PKTS) packets = attributes.u64be();
          else if (attributes.type === NFACCT_BYTES) bytes = attributes.u64be();
        }
      },
    );
    return { packets, bytes };
  }

  /** Throws NetlinkError where there is none, or where a rule uses it. */
  deleteCounter(name: string): void {
    this.#connection.request({
      op: `delete counter ${name}`,
      type: messageType(NFNL_MSG_ACCT_DEL),
      body: named(name),
    });
  }

  close(): void {
    this.#connection.close();
  }
}

function named(name: string): (writer: AttributeWriter) => void {
  if (name.length === 0 || name.length >= NAME_MAX) throw new RangeError(`not a counter name: ${name}`);
  return (writer) => {
    const at = writer.reserve(NFGENMSG_LENGTH);
    writer.bytes[at] = AF_UNSPEC;
    writer.bytes[at + 1] = NFNETLINK_V0;
    writer.addString(NFACCT_NAME, name);
  };
}
