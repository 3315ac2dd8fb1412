import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';

/**
 * Servers that tell each client who answered and which address they saw: `{"server": "ip:port", "client": "ip:port"}`
 * for each line (TCP) or datagram (UDP).
 */
export class IdentityServers {
  readonly #servers: (Server | UdpSocket)[] = [];
  readonly #accepted = new Set<Socket>();

  /** Resolves when all combinations accept requests; rejects when one address cannot be bound. */
  async listen(addresses: readonly string[], ports: readonly number[]): Promise<void> {
    const pairs = addresses.flatMap((address) => ports.map((port) => ({ address, port })));
    await Promise.all(
      pairs.flatMap(({ address, port }) => [this.#tcp(address, port), this.#udp(address, port)]),
    );
  }

  /** Closes accepted connections; the servers stay. */
  reset(): void {
    for (const socket of this.#accepted) socket.resetAndDestroy();
    this.#accepted.clear();
  }

  async #tcp(address: string, port: number): Promise<void> {
    const server = createServer((socket) => {
      this.#accepted.add(socket);
      const answer = identity(socket.localAddress, socket.localPort, socket.remoteAddress, socket.remotePort);
      let rest = '';
      socket.setNoDelay(true).setEncoding('utf8');
      socket.on('data', (text: string) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const _ of lines) socket.write(`${answer}\n`);
      });
      socket.on('error', () => {}); // Clients end their connections by a reset.
      socket.on('close', () => this.#accepted.delete(socket));
    });
    this.#servers.push(server);
    server.listen({ host: address, port, backlog: 1024 });
    await once(server, 'listening');
  }

  async #udp(address: string, port: number): Promise<void> {
    const socket = createSocket({ type: address.includes(':') ? 'udp6' : 'udp4' });
    this.#servers.push(socket);
    socket.on('message', (_, peer) => {
      // A client that is gone answers with an ICMP error; the next datagram is not affected.
      socket.send(identity(address, port, peer.address, peer.port), peer.port, peer.address, () => {});
    });
    socket.bind({ address, port, exclusive: true });
    await once(socket, 'listening');
    socket.on('error', () => {});
  }
}

function identity(server?: string, serverPort?: number, client?: string, clientPort?: number): string {
  return JSON.stringify({ server: hostPort(server, serverPort), client: hostPort(client, clientPort) });
}

function hostPort(address = '', port = 0): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
