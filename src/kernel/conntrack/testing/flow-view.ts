import { addressFamily } from '../../netlink/address-family.ts';
import { AttributeWriter } from '../../netlink/attribute-writer.ts';
import { beginNetfilterMessage, endMessage, readMessages } from '../../netlink/message.ts';
import { CTA_ID } from '../conntrack-attributes.ts';
import { ConntrackFlow } from '../conntrack-flow.ts';
import { encodeNewFlow, type NewFlow } from '../conntrack-message.ts';

/** A flow as the kernel would report it, in a view of its own. */
export function flowView(flow: Omit<NewFlow, 'timeoutSeconds'> & { readonly id?: number }): ConntrackFlow {
  const writer = new AttributeWriter();
  const family = addressFamily(flow.original.source.includes(':') ? 'IPv6' : 'IPv4');
  const token = beginNetfilterMessage(writer, { type: 0x100, flags: 0, sequence: 0 }, family);
  encodeNewFlow(writer, { timeoutSeconds: 30, ...flow });
  if (flow.id !== undefined) writer.addU32be(CTA_ID, flow.id);
  endMessage(writer, token);
  const view = new ConntrackFlow();
  for (const message of readMessages(writer.finish())) view.read(message);
  return view;
}

/** A flow from `client` to `destination` that is answered by `replySource`; all three as `ip:port` or `[ip]:port`. */
export function flowBetween(
  client: string,
  destination: string,
  replySource: string,
  protocol = 17,
  more: Pick<NewFlow, 'connectionState' | 'status'> = {},
): ConntrackFlow {
  const [source, sourcePort] = split(client);
  const [to, toPort] = split(destination);
  const [from, fromPort] = split(replySource);
  return flowView({
    original: { protocol, source, sourcePort, destination: to, destinationPort: toPort },
    reply: { protocol, source: from, sourcePort: fromPort, destination: source, destinationPort: sourcePort },
    ...more,
  });
}

function split(text: string): [string, number] {
  const colon = text.lastIndexOf(':');
  return [text.slice(0, colon).replace(/^\[|\]$/g, ''), Number(text.slice(colon + 1))];
}
