import type { IpFamily } from '../../base/ip.ts';
import { AF_UNSPEC, addressFamily } from '../netlink/address-family.ts';
import { AttributeWriter } from '../netlink/attribute-writer.ts';
import { writeHostU16, writeHostU32 } from '../netlink/byte-order.ts';
import {
  beginNetfilterMessage,
  endMessage,
  type NetlinkMessage,
  NFGENMSG_LENGTH,
  NFNETLINK_V0,
  NLM_F_CREATE,
  NLM_F_EXCL,
  NLM_F_REQUEST,
  netfilterType,
  readMessages,
} from '../netlink/message.ts';
import {
  type Batch,
  type BatchResult,
  type DumpOptions,
  NetlinkConnection,
  type NetlinkRequest,
} from '../netlink/netlink-connection.ts';
import {
  isInvalid,
  isNotSupported,
  type KernelRejection,
  kernelError,
  NetlinkError,
} from '../netlink/netlink-error.ts';
import { NETLINK_NETFILTER } from '../netlink/netlink-socket.ts';
import {
  CTA_STATS_GLOBAL_ENTRIES,
  IPCTNL_MSG_CT_DELETE,
  IPCTNL_MSG_CT_GET,
  IPCTNL_MSG_CT_GET_STATS,
  IPCTNL_MSG_CT_NEW,
  NFNL_SUBSYS_CTNETLINK,
} from './conntrack-attributes.ts';
import { ConntrackFlow } from './conntrack-flow.ts';
import { encodeFlowFilter, encodeNewFlow, type FlowQuery, type NewFlow } from './conntrack-message.ts';
import type { FlowDeletions } from './flow-deletions.ts';

/** Flows looked at once more in one go: little time passes until the last of them is deleted, and the answers fit the queue. */
const LOOK_LENGTH = 256;

const messageType = (command: number): number => netfilterType(NFNL_SUBSYS_CTNETLINK, command);

export interface DeletionResult {
  readonly deleted: number;
  /** Flows that were gone already. */
  readonly gone: number;
  /** What the kernel refused for another reason. */
  readonly rejections: readonly KernelRejection[];
}

/**
 * The connection tracking table of the network namespace that the connection was opened in.
 * Errors are NetlinkError; a listing that is under way keeps the connection to itself.
 */
export class ConntrackConnection {
  readonly #connection: NetlinkConnection;
  readonly #flow = new ConntrackFlow();
  #kernelFilters = true;

  constructor(connection: NetlinkConnection) {
    this.#connection = connection;
  }

  static open(): ConntrackConnection {
    return new ConntrackConnection(NetlinkConnection.open(NETLINK_NETFILTER));
  }

  /**
   * Shows each flow of the query to `visit`, always through the same view: copy what is kept. The kernel filters where
   * it can; what it lets through is filtered here. A flow may be shown twice while the table is being resized.
   */
  listFlows(query: FlowQuery, visit: (flow: ConntrackFlow) => void, options?: DumpOptions): void {
    const onMessage = this.#visitor(query, visit);
    try {
      this.#connection.dump(this.#listRequest(query), onMessage, options);
    } catch (error) {
      if (!this.#refusesFilters(error)) throw error;
      this.#connection.dump(this.#listRequest(query), onMessage, options);
    }
  }

  /** Like {@link listFlows}, with the kernel's part on another thread, so that the event loop is free. */
  async listFlowsInBackground(
    query: FlowQuery,
    visit: (flow: ConntrackFlow) => void,
    options?: DumpOptions,
  ): Promise<void> {
    const onMessage = this.#visitor(query, visit);
    try {
      await this.#connection.dumpInBackground(this.#listRequest(query), onMessage, options);
    } catch (error) {
      if (!this.#refusesFilters(error)) throw error;
      await this.#connection.dumpInBackground(this.#listRequest(query), onMessage, options);
    }
  }

  /** Deletes flows, thousands per system call. That some are gone already is no error. */
  deleteFlows(deletions: FlowDeletions): DeletionResult {
    const tally = new DeletionTally(deletions.size);
    for (const chunk of deletions.chunks) {
      const batch = this.#number(chunk.writer.finish(), chunk.count);
      tally.add(this.#connection.sendBatch(batch.datagram, batch));
    }
    return tally.result;
  }

  /** Like {@link deleteFlows}, with the kernel's part on another thread. */
  async deleteFlowsInBackground(deletions: FlowDeletions): Promise<DeletionResult> {
    const tally = new DeletionTally(deletions.size);
    for (const chunk of deletions.chunks) {
      const batch = this.#number(chunk.writer.finish(), chunk.count);
      tally.add(await this.#connection.sendBatchInBackground(batch.datagram, batch));
    }
    return tally.result;
  }

  /**
   * Deletes those of the flows that are still as `isStill` wants them: each is looked up once more right before, since
   * a flow may have changed after a listing showed it.
   */
  async deleteFlowsThatAreStill(
    deletions: FlowDeletions,
    isStill: (flow: ConntrackFlow) => boolean,
  ): Promise<DeletionResult & { readonly kept: number }> {
    const tally = new DeletionTally(deletions.size);
    for (const { writer } of deletions.chunks) {
      for (const part of partsOf(writer.finish())) {
        const still = await this.#lookAgain(part, isStill, tally);
        if (still.length === 0) continue;
        const batch = this.#number(Buffer.concat(still), still.length);
        // On this thread, so that next to no time passes after the look.
        tally.add(this.#connection.sendBatch(batch.datagram, batch));
      }
    }
    return { ...tally.result, kept: tally.kept };
  }

  /** Deletes all flows, or those of one family. */
  flush(family?: IpFamily): void {
    this.#connection.request({
      op: 'flush flows',
      type: messageType(IPCTNL_MSG_CT_DELETE),
      body: (writer) => {
        const at = writer.reserve(NFGENMSG_LENGTH);
        writer.bytes[at] = family === undefined ? AF_UNSPEC : addressFamily(family);
        // The kernel looks at the family of a flush only when the version is not 0 (ctnetlink_del_conntrack).
        writer.bytes[at + 1] = family === undefined ? NFNETLINK_V0 : 1;
      },
    });
  }

  /** Number of entries of all families in the table. */
  countFlows(): number {
    let entries = 0;
    this.#connection.request(
      {
        op: 'count flows',
        type: messageType(IPCTNL_MSG_CT_GET_STATS),
        body: (writer) => void writer.reserve(NFGENMSG_LENGTH),
      },
      (message) => {
        const reader = message.attributes('statistics');
        while (reader.next()) if (reader.type === CTA_STATS_GLOBAL_ENTRIES) entries = reader.u32be();
      },
    );
    return entries;
  }

  /** Creates flows as if packets had been seen, for tests. Throws at the first one the kernel refuses. */
  createFlows(flows: readonly NewFlow[]): void {
    const op = 'create flows';
    const writer = new AttributeWriter(65_536);
    for (let from = 0; from < flows.length; from += 4096) {
      const part = flows.slice(from, from + 4096);
      const firstSequence = this.#connection.reserveSequences(part.length);
      writer.reset();
      for (const [i, flow] of part.entries()) {
        const header = {
          type: messageType(IPCTNL_MSG_CT_NEW),
          flags: NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL,
          sequence: firstSequence + i,
        };
        const family = addressFamily(flow.original.source.includes(':') ? 'IPv6' : 'IPv4');
        const token = beginNetfilterMessage(writer, header, family);
        encodeNewFlow(writer, flow);
        endMessage(writer, token);
      }
      const { rejections } = this.#connection.sendBatch(writer.finish(), {
        op,
        firstSequence,
        count: part.length,
      });
      if (rejections[0] !== undefined) throw kernelError(op, rejections[0]);
    }
  }

  close(): void {
    this.#connection.close();
  }

  /** Of delete messages those whose flows are still as they should be; the others are counted. */
  async #lookAgain(
    messages: readonly Buffer[],
    isStill: (flow: ConntrackFlow) => boolean,
    tally: DeletionTally,
  ): Promise<Buffer[]> {
    const datagram = Buffer.concat(messages);
    for (const message of readMessages(datagram))
      writeHostU16(datagram, messageType(IPCTNL_MSG_CT_GET), message.start + 4);
    const batch = this.#number(datagram, messages.length);
    const still: Buffer[] = [];
    const result = await this.#connection.sendBatchInBackground(datagram, batch, (message) => {
      if (this.#flow.read(message) && isStill(this.#flow))
        still.push(messages[message.sequence - batch.firstSequence]!);
    });
    tally.add(result);
    tally.kept += messages.length - result.rejections.length - still.length;
    return still;
  }

  /** Numbers the messages of a datagram. */
  #number(datagram: Buffer, count: number): Batch & { readonly datagram: Buffer } {
    const firstSequence = this.#connection.reserveSequences(count);
    let sequence = firstSequence;
    for (const message of readMessages(datagram)) writeHostU32(datagram, sequence++, message.start + 8);
    return { datagram, op: DELETE_FLOWS, firstSequence, count };
  }

  #listRequest(query: FlowQuery): NetlinkRequest {
    return {
      op: 'list flows',
      type: messageType(IPCTNL_MSG_CT_GET),
      body: (writer) => {
        const at = writer.reserve(NFGENMSG_LENGTH);
        writer.bytes[at] = addressFamily(query.family);
        if (this.#kernelFilters) encodeFlowFilter(writer, query);
      },
    };
  }

  #visitor(query: FlowQuery, visit: (flow: ConntrackFlow) => void): (message: NetlinkMessage) => void {
    const flow = this.#flow;
    const { family, protocol, status } = query;
    return (message) => {
      if (!flow.read(message) || flow.family !== family) return;
      if (protocol !== undefined && flow.protocol !== protocol) return;
      if (status !== undefined && (flow.status & status.mask) !== status.value) return;
      visit(flow);
    };
  }

  /** Whether a listing failed because of its filter; then this connection does without from now on. */
  #refusesFilters(error: unknown): boolean {
    if (!this.#kernelFilters || !(isNotSupported(error) || isInvalid(error))) return false;
    this.#kernelFilters = false;
    return true;
  }
}

const DELETE_FLOWS = 'delete flows';

/** Adds up the kernel's answers. Without NLM_F_ACK it answers failures only, so silence is success. */
class DeletionTally {
  readonly #size: number;
  #gone = 0;
  readonly #rejections: KernelRejection[] = [];
  /** Flows that were not to be deleted after all. */
  kept = 0;

  constructor(size: number) {
    this.#size = size;
  }

  add({ rejections, overrun }: BatchResult): void {
    if (overrun) {
      const message = `${DELETE_FLOWS}: the kernel's answers were lost`;
      throw new NetlinkError({ code: 'NETLINK_OVERRUN', op: DELETE_FLOWS }, message);
    }
    for (const rejection of rejections) {
      if (rejection.errnoName === 'ENOENT') this.#gone++;
      else this.#rejections.push(rejection);
    }
  }

  get result(): DeletionResult {
    const [gone, rejections] = [this.#gone, this.#rejections];
    return { deleted: this.#size - this.kept - gone - rejections.length, gone, rejections };
  }
}

/** The messages of a datagram, copied, in groups that are looked at together. */
function* partsOf(datagram: Buffer): Generator<Buffer[]> {
  let part: Buffer[] = [];
  for (const { bytes, start, end } of readMessages(datagram)) {
    part.push(Buffer.from(bytes.subarray(start, end)));
    if (part.length < LOOK_LENGTH) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}
