import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';

interface Identity {
  readonly server: string;
  readonly client: string;
}

/**
 * Servers that tell each client who answered and which address they saw: `{"server": "ip:port", "client": "ip:port"}`
 * for each line (TCP) or datagram (UDP). A TCP client that speaks HTTP gets the same as an HTTP answer, with the
 * name of the server.
 */
export class IdentityServers {
  readonly #servers: (Server | UdpSocket)[] = [];
  readonly #accepted = new Set<Socket>();

  /** Resolves when all combinations accept requests; rejects when one address cannot be bound. */
  async listen(addresses: readonly string[], ports: readonly number[], name?: string): Promise<void> {
    const pairs = addresses.flatMap((address) => ports.map((port) => ({ address, port })));
    const listening = pairs.flatMap(({ address, port }) => [
      this.#tcp(address, port, name),
      this.#udp(address, port),
    ]);
    await Promise.all(listening);
  }

  /** Closes accepted connections; the servers stay. */
  reset(): void {
    for (const socket of this.#accepted) socket.resetAndDestroy();
    this.#accepted.clear();
  }

  async #tcp(address: string, port: number, name: string | undefined): Promise<void> {
    const server = createServer((socket) => {
      this.#accepted.add(socket);
      serve(socket, name);
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
      const identity: Identity = {
        server: hostPort(address, port),
        client: hostPort(peer.address, peer.port),
      };
      // A client that is gone answers with an ICMP error; the next datagram is not affected.
      socket.send(JSON.stringify(identity), peer.port, peer.address, () => {});
    });
    socket.bind({ address, port, exclusive: true });
    await once(socket, 'listening');
    socket.on('error', () => {});
  }
}

function serve(socket: Socket, name: string | undefined): void {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  const identity: Identity = {
    server: hostPort(localAddress, localPort),
    client: hostPort(remoteAddress, remotePort),
  };
  const answer = `${JSON.stringify(identity)}\n`;
  let rest = '';
  let http = false;
  socket.setNoDelay(true).setEncoding('utf8');
  socket.on('error', () => {}); // Clients end their connections by a reset.
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (/^[A-Z]+ \S+ HTTP\/1\.[01]\r$/.test(line)) http = true;
      else if (http && line === '\r') socket.end(httpAnswer(name, identity));
      else if (!http) socket.write(answer);
    }
  });
}

function httpAnswer(name: string | undefined, identity: Identity): string {
  const body = `${JSON.stringify({ ...(name === undefined ? {} : { name }), ...identity })}\n`;
  return [
    'HTTP/1.1 200 OK',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

function hostPort(address = '', port = 0): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}
