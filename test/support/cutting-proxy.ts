/** A proxy of ours before a server, which can cut a connection when the server has replied and the reply has not arrived. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export class CuttingProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Port of the server: another one after {@link turnTo}. */
  #target: number;
  #cutsNext = false;
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
      client.on('data', (bytes) => server.write(bytes));
      server.on('data', (bytes) => {
        // A reply that comes means that the server has committed.
        if (this.#cutsNext) {
          this.#cutsNext = false;
          this.cuts += 1;
          return end();
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

  /** From now on connections go to another server; those that are open are cut. */
  turnTo(port: number): void {
    this.#target = port;
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
