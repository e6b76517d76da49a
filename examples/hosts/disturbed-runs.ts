/** Many orders over Restate servers and several endpoints, which are killed, stopped for a while, and started again, until all have completed. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import type { Engine, RunWaker } from '../../src/engine/api.ts';
import { wakeByRestate } from '../../src/hosts/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { orderOf, readLedger } from './order.ts';
import type { RestateServer } from './restate-server.ts';

/** Nothing healthy stands still for so long, on a busy machine either. */
const patienceMs = 120_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What `endpoint.ts` is started with, as JSON. */
export interface EndpointOptions {
  /** The database of the runs. */
  readonly path: string;
  /** The file that effects write to. What the store refuses is written beside it, in a file that ends with `.refused`. */
  readonly ledger: string;
  readonly ingress: string;
  readonly leaseMs: number;
  /** How long a slice is, in ms. */
  readonly forMs?: number;
  /** Deadline of an effect, and what it does not come back from is given up after so long, in ms. */
  readonly timeoutMs?: number;
  readonly cancelGraceMs?: number;
  /** How long an effect takes, in ms. */
  readonly effectMs?: number;
}

interface Endpoint {
  readonly child: ChildProcess;
  readonly port: number;
}

/** Endpoints behind one address, as behind a load balancer: a connection goes to one that lives. */
export class Endpoints {
  readonly #options: EndpointOptions;
  readonly #living: Endpoint[] = [];
  /** Processes that do not run for now. */
  readonly #stopped = new Set<ChildProcess>();
  readonly #balancer = createServer((socket) => this.#forward(socket));
  #next = 0;
  /** Who got the last connection. */
  #last: Endpoint | undefined;
  #isClosed = false;

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  /** Starts endpoints. @returns the address of all of them */
  async open(count: number): Promise<string> {
    await Promise.all(Array.from({ length: count }, () => this.add()));
    await new Promise<void>((resolve) => this.#balancer.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#balancer.address() as AddressInfo).port}`;
  }

  async add(): Promise<void> {
    const child = fork(join(import.meta.dirname, 'endpoint.ts'), [JSON.stringify(this.#options)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const [port] = (await once(child, 'message')) as [number];
    if (this.#isClosed) child.kill('SIGKILL');
    else this.#living.push({ child, port });
  }

  /** Kills the one that was called last, and starts another. */
  kill(): void {
    const victim = this.#takeLast();
    victim?.child.kill('SIGKILL');
    if (victim !== undefined) this.add().catch(console.error);
  }

  /** Stops the one that was called last, as a machine that hangs: its connections stay. @returns lets it go on */
  suspend(): () => void {
    const victim = this.#takeLast();
    if (victim === undefined) return () => {};
    const { child } = victim;
    child.kill('SIGSTOP');
    this.#stopped.add(child);
    return () => {
      this.#stopped.delete(child);
      child.kill('SIGCONT');
      this.#living.push(victim);
    };
  }

  #takeLast(): Endpoint | undefined {
    const index = this.#last === undefined ? -1 : this.#living.indexOf(this.#last);
    return this.#living.splice(Math.max(0, index), 1)[0];
  }

  #forward(socket: Socket): void {
    this.#next += 1;
    const target = this.#living[this.#next % Math.max(1, this.#living.length)];
    this.#last = target;
    if (target === undefined) return void socket.destroy();
    const onward = connect(target.port, '127.0.0.1');
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
      from.pipe(to);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const { child } of this.#living) child.kill('SIGKILL');
    for (const child of this.#stopped) child.kill('SIGKILL');
    this.#balancer.close();
  }
}

/** How orders are disturbed. */
export interface Disturbance {
  readonly runs: number;
  readonly killEveryMs: number;
  /** Lease of the endpoints' claims, in ms. */
  readonly leaseMs: number;
  /** Done to the server when a quarter of the orders has completed. */
  readonly disturbServer: () => Promise<void>;
  readonly say?: (line: string) => void;
}

/** How orders ended. Each has two effects. */
export interface OrdersReport {
  readonly completed: number;
  /** Effects that happened once, and more often. */
  readonly onceCount: number;
  readonly repeatedCount: number;
  /** Effects of which a person was asked whether they had happened. */
  readonly doubts: number;
  readonly kills: number;
  readonly tookMs: number;
  readonly isValid: boolean;
}

/** What is disturbed. */
interface Scene {
  readonly endpoints: Endpoints;
  readonly engine: Engine;
  readonly host: RunWaker;
  readonly ledger: string;
}

/** @throws Error if nothing happens for minutes */
export async function runOrders(server: RestateServer, disturbance: Disturbance): Promise<OrdersReport> {
  const { runs, leaseMs, say = () => {} } = disturbance;
  const folder = mkdtempSync(join(tmpdir(), 'cairn-hosts-'));
  const [path, ledger] = [join(folder, 'cairn.db'), join(folder, 'ledger')];
  const host = wakeByRestate({ ingress: server.ingress });
  const engine = createDefaultEngine({ store: openSqliteStore({ path }), host });
  const { graph } = orderOf(ledger, engine);
  const endpoints = new Endpoints({ path, ledger, ingress: server.ingress, leaseMs });
  try {
    await server.register(await endpoints.open(3));
    for (let index = 0; index < runs; index += 1)
      await engine.start(graph, {}, { runId: `order-${index}`, detach: true });
    say(`${runs} runs started, three endpoints at work`);
    const disturbed = await disturb({ endpoints, engine, host, ledger }, disturbance);
    const counts = new Map<string, number>();
    for (const line of readLedger(ledger)) counts.set(line, (counts.get(line) ?? 0) + 1);
    const onceCount = [...counts.values()].filter((count) => count === 1).length;
    const { isValid } = await engine.history.verify();
    return { ...disturbed, onceCount, repeatedCount: counts.size - onceCount, isValid };
  } finally {
    endpoints.close();
    await engine.close();
    await engine.ports.store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Kills and answers until all runs have completed. */
async function disturb(
  { endpoints, engine, host, ledger }: Scene,
  { runs, killEveryMs, disturbServer }: Disturbance,
): Promise<Pick<OrdersReport, 'completed' | 'doubts' | 'kills' | 'tookMs'>> {
  const { store, tenant } = engine.ports;
  const answered = new Set<string>();
  let [kills, doubts, completed] = [0, 0, 0];
  const begun = Date.now();
  let [killAt, isServerDisturbed] = [begun + killEveryMs, false];
  // How much was done, when that was last more, and at the last kill.
  let [done, movedAt, doneAtKill] = [0, begun, 0];
  while (completed < runs) {
    const doneNow = completed + readLedger(ledger).length;
    if (doneNow > done) [done, movedAt] = [doneNow, Date.now()];
    if (Date.now() > movedAt + patienceMs)
      throw new Error(`nothing has happened for ${patienceMs} ms; ${completed} of ${runs} completed`);
    const { rows } = await store.listWaits({ tenant, kinds: ['question', 'doubt'], isAnswered: false, limit: 1_000 });
    for (const { runId, waitId, kind } of rows) {
      if (answered.has(`${runId} ${waitId}`)) continue;
      answered.add(`${runId} ${waitId}`);
      if (kind === 'doubt') doubts += 1;
      await engine.answer(runId, waitId, kind === 'doubt' ? await lookUp(engine, ledger, runId, waitId) : 'yes');
    }
    // Each kill is of endpoints that have done something: on a busy machine they take long to start, and would never.
    if (Date.now() > killAt && done > doneAtKill) {
      kills += 1;
      doneAtKill = done;
      endpoints.kill();
      killAt = Date.now() + killEveryMs;
      // What each endpoint does once a minute. Nobody here has a minute to wait.
      for (const runId of await engine.listClaimable({ limit: 100 })) await host.wake(runId, 0).catch(() => {});
    }
    completed = (await store.listRuns({ tenant, status: ['completed'], limit: runs })).rows.length;
    if (!isServerDisturbed && completed > runs / 4) {
      isServerDisturbed = true;
      await disturbServer();
    }
    await pause(50);
  }
  return { completed, doubts, kills, tookMs: Date.now() - begun };
}

/** What a person does who is asked: looks whether it happened. */
async function lookUp(engine: Engine, ledger: string, runId: string, waitId: string): Promise<string> {
  const question = (await engine.waits(runId)).find((wait) => wait.waitId === waitId);
  return readLedger(ledger).includes(`${runId} ${question?.node.at(-1)}`) ? 'happened' : 'run again';
}
