/** A proxy of ours before a server, which can cut a connection when the server has replied and the reply has not arrived. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** ReadyForQuery of Postgres, outside of a transaction. */
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Port of the server: another one after {@link turnTo}. */
  #target: number;
  #cutsNext = false;
  #isBarred = false;
  /** What the server says when it ends a connection of itself, in the packet of its reply. */
  #farewell: Uint8Array | undefined;
  /** What the server was sent. */
  sent = '';
  /** How often it has cut. */
  cuts = 0;

  /** @param port - of the server, on this machine */
  static async before(port: number): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(port);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  private constructor(port: number) {
    this.#target = port;
    this.#server = createServer((client) => {
      if (this.#isBarred) {
        client.destroy();
        return;
      }
      const server = connect(this.#target, '127.0.0.1');
      const end = (): void => {
        client.destroy();
        server.destroy();
      };
      for (const socket of [client, server]) {
        this.#sockets.add(socket);
        socket.on('error', end);
        socket.on('close', () => {
          this.#sockets.delete(socket);
          end();
        });
      }
      client.on('data', (bytes) => {
        this.sent += bytes.toString('latin1');
        server.write(bytes);
      });
      server.on('data', (bytes) => {
        // A reply that comes means that the server has committed.
        if (this.#cutsNext) {
          this.#cutsNext = false;
          this.cuts += 1;
          return end();
        }
        if (this.#farewell !== undefined && bytes.subarray(-6).equals(readyForQuery)) {
          client.end(Buffer.concat([bytes, this.#farewell]));
          this.#farewell = undefined;
          this.cuts += 1;
          return;
        }
        client.write(bytes);
      });
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The next reply of the server is lost, and with it its connection. */
  cutNextReply(): void {
    this.#cutsNext = true;
  }

  /** In the packet of its next reply to a statement, or to a new connection, a Postgres server ends that connection. */
  endWithNextReply(sqlState: string): void {
    const fields = ['SFATAL', 'VFATAL', `C${sqlState}`, 'Mthe server ends this connection', ''];
    const body = Buffer.from(fields.map((field) => `${field}\0`).join(''));
    const head = Buffer.from([0x45, 0, 0, 0, 0]);
    head.writeUInt32BE(body.length + 4, 1);
    this.#farewell = Buffer.concat([head, body]);
  }

  /** From now on connections go to another server; those that are open are cut. */
  turnTo(port: number): void {
    this.#target = port;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** From now on, and until {@link admit}, the server is away: open connections are cut, and new ones too. */
  bar(): void {
    this.#isBarred = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  admit(): void {
    this.#isBarred = false;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
