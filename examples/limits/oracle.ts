/** Counts calls outside of the store: how many were in progress at once, for whom, and which of those over a limit are explained. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

interface Call {
  readonly user: string;
  readonly runId: string;
  readonly socket: Socket;
  readonly at: number;
  /** Its process stood still for longer than its claim while it was in progress: its place is given to another then. */
  isLapsed: boolean;
}

/** No more than this many are described. */
const describedMax = 10;

export interface OracleReport {
  readonly calls: number;
  readonly mostAtProvider: number;
  readonly mostOfUser: number;
  /** The most calls that began within a second. */
  readonly mostInSecond: number;
  /** Times at which more were in progress than allowed: because of calls of processes that stood still, and for no known reason. */
  readonly overExplained: number;
  readonly overUnexplained: number;
  /** Of the first of these: what was in progress, as `RUN by PID`. */
  readonly unexplained: readonly string[];
}

export interface OracleOptions {
  readonly atProvider: number;
  readonly perUser: number;
}

export class CountingOracle {
  readonly #options: OracleOptions;
  readonly #open = new Map<string, Call>();
  readonly #begun: number[] = [];
  readonly #pids = new Map<Socket, number>();
  readonly #server: Server;
  readonly #unexplained: string[] = [];
  readonly #counts = { mostAtProvider: 0, mostOfUser: 0, overExplained: 0, overUnexplained: 0 };

  constructor(options: OracleOptions) {
    this.#options = options;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  listen(): Promise<number> {
    return new Promise((resolve) =>
      this.#server.listen(0, '127.0.0.1', () => resolve((this.#server.address() as AddressInfo).port)),
    );
  }

  #serve(socket: Socket): void {
    let rest = '';
    socket.on('error', () => undefined);
    socket.on('close', () => {
      for (const [id, call] of this.#open) if (call.socket === socket) this.#open.delete(id);
    });
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const [word = '', id = '', user = '', runId = ''] = line.split(' ');
        if (word === 'worker') this.#pids.set(socket, Number(id));
        else if (word === 'begin') this.#begin(id, { user, runId, socket, at: performance.now(), isLapsed: false });
        else this.#open.delete(id);
        socket.write('\n');
      }
    });
  }

  #begin(id: string, call: Call): void {
    this.#open.set(id, call);
    this.#begun.push(call.at);
    const calls = [...this.#open.values()];
    const own = calls.filter(({ user }) => user === call.user);
    this.#counts.mostAtProvider = Math.max(this.#counts.mostAtProvider, calls.length);
    this.#counts.mostOfUser = Math.max(this.#counts.mostOfUser, own.length);
    const isOver = (list: readonly Call[], most: number): boolean => list.length > most;
    const live = (list: readonly Call[]): readonly Call[] => list.filter(({ isLapsed }) => !isLapsed);
    const { atProvider, perUser } = this.#options;
    if (isOver(live(calls), atProvider) || isOver(live(own), perUser)) {
      this.#counts.overUnexplained += 1;
      const who = live(calls).map(({ runId, socket }) => `${runId} by ${this.#pids.get(socket) ?? '?'}`);
      if (this.#unexplained.length < describedMax) this.#unexplained.push(who.join(', '));
    } else if (isOver(calls, atProvider) || isOver(own, perUser)) this.#counts.overExplained += 1;
  }

  /** A process stands still from now on until its claims are over: its calls in progress have no place any more. */
  lapse(pid: number): void {
    for (const call of this.#open.values()) if (this.#pids.get(call.socket) === pid) call.isLapsed = true;
  }

  get callsSoFar(): number {
    return this.#begun.length;
  }

  report(): OracleReport {
    let mostInSecond = 0;
    for (let [from, to] = [0, 0]; to < this.#begun.length; to += 1) {
      while ((this.#begun[to] as number) - (this.#begun[from] as number) >= 1_000) from += 1;
      mostInSecond = Math.max(mostInSecond, to - from + 1);
    }
    return { calls: this.#begun.length, mostInSecond, ...this.#counts, unexplained: this.#unexplained };
  }

  close(): void {
    this.#server.close();
  }
}
