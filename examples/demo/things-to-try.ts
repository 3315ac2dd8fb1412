import type { Demo } from './demo.ts';
import type { Paint } from './table.ts';

/** What to do while the demo stays up: commands with the real names in them. */
export function thingsToTry({ bed, manifests }: Demo, mode: string, colours: Paint): string {
  const inside = (ns: string, command: string): string => `  ip netns exec ${bed.fullName(ns)} ${command}`;
  const rules =
    mode === 'nftables' ? inside('node1', 'nft list ruleset') : inside('node1', 'iptables-save -t nat');
  return [
    '',
    colours.strong('The demo stays up. In another terminal (as root):'),
    '',
    colours.quiet('  # the shop window, from the client and from a pod'),
    inside('client', 'curl -s http://203.0.113.10/'),
    inside('cart-1', 'curl -s http://10.96.0.20/'),
    colours.quiet('  # a node port, the health check of web on node2, the rules of node1'),
    inside('client', 'curl -s http://172.31.1.11:30090/'),
    inside('client', 'curl -s http://172.31.2.12:32010/'),
    rules,
    colours.quiet(
      '  # change the objects: more or fewer endpoints, ports, Services; both nodes follow as soon as a file is written',
    ),
    `  \${EDITOR:-vi} ${manifests}/web.yaml`,
    '',
    `${colours.strong('Ctrl-C')} takes everything down.`,
  ].join('\n');
}
