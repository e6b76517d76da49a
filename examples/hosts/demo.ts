/**
 * A hundred runs over a Restate server from npm and three endpoints. Endpoints are killed all the time, the server once. At the end each
 * effect is counted: it happened once, or a person was asked about it. `npm run demo -- hosts [RUNS]`
 */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import type { Engine, Host } from '../../src/engine/api.ts';
import { wakeByRestate } from '../../src/hosts/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { orderOf, readLedger } from './order.ts';
import { startRestate, type RestateServer } from './restate-server.ts';

const runCount = Number(process.argv[2] ?? 100);
const killEveryMs = 2_500;
const patienceMs = 180_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Endpoint {
  readonly child: ChildProcess;
  readonly port: number;
}

/** Endpoints behind one address, as behind a load balancer: a connection goes to one that lives. */
class Endpoints {
  readonly #args: readonly string[];
  readonly #living: Endpoint[] = [];
  #next = 0;
  #isStopped = false;

  constructor(args: readonly string[]) {
    this.#args = args;
  }

  async add(): Promise<void> {
    const child = fork(join(import.meta.dirname, 'endpoint.ts'), this.#args, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const [port] = (await once(child, 'message')) as [number];
    if (this.#isStopped) child.kill('SIGKILL');
    else this.#living.push({ child, port });
  }

  /** Kills the one that was called last, and starts another. */
  kill(): void {
    const [victim] = this.#living.splice(this.#next % Math.max(1, this.#living.length), 1);
    victim?.child.kill('SIGKILL');
    if (victim !== undefined) this.add().catch(console.error);
  }

  readonly forward = (socket: Socket): void => {
    this.#next += 1;
    const target = this.#living[this.#next % Math.max(1, this.#living.length)];
    if (target === undefined) return void socket.destroy();
    const onward = connect(target.port, '127.0.0.1');
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
      from.pipe(to);
    }
  };

  stop(): void {
    this.#isStopped = true;
    for (const { child } of this.#living) child.kill('SIGKILL');
  }
}

/** What the demo plays with. */
interface Scene {
  readonly server: RestateServer;
  readonly endpoints: Endpoints;
  readonly engine: Engine;
  readonly host: Host;
  readonly ledger: string;
}

async function main(server: RestateServer): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-hosts-'));
  const [path, ledger] = [join(folder, 'cairn.db'), join(folder, 'ledger')];
  const host = wakeByRestate({ ingress: server.ingress });
  const engine = createDefaultEngine({ store: openSqliteStore({ path }), host });
  const { graph } = orderOf(ledger, engine);
  const endpoints = new Endpoints([path, ledger, server.ingress]);
  const balancer = createServer(endpoints.forward);
  try {
    await Promise.all([endpoints.add(), endpoints.add(), endpoints.add()]);
    await new Promise<void>((resolve) => balancer.listen(0, '127.0.0.1', resolve));
    await server.register(`http://127.0.0.1:${(balancer.address() as AddressInfo).port}`);
    for (let index = 0; index < runCount; index += 1)
      await engine.start(graph, {}, { runId: `order-${index}`, detach: true });
    console.log(`${runCount} runs started, three endpoints at work`);
    const doubts = await disturb({ server, endpoints, engine, host, ledger });
    const { isSound } = await engine.history.verify();
    const counts = new Map<string, number>();
    for (const line of readLedger(ledger)) counts.set(line, (counts.get(line) ?? 0) + 1);
    const onceCount = [...counts.values()].filter((count) => count === 1).length;
    console.log(
      `${onceCount} of ${2 * runCount} effects happened once, ${doubts} were asked about; histories are ${isSound ? 'sound' : 'DAMAGED'}`,
    );
    return isSound && onceCount === 2 * runCount;
  } finally {
    endpoints.stop();
    balancer.close();
    await engine.close();
    await engine.ports.store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Kills and answers until all runs have completed. @returns how many effects were in doubt */
async function disturb({ server: restate, endpoints, engine, host, ledger }: Scene): Promise<number> {
  const { store, tenant } = engine.ports;
  const answered = new Set<string>();
  let [kills, doubts, completed] = [0, 0, 0];
  const begun = Date.now();
  let [killAt, isRestarted] = [begun + killEveryMs, false];
  while (completed < runCount) {
    if (Date.now() > begun + patienceMs)
      throw new Error(`after ${patienceMs} ms ${completed} of ${runCount} completed`);
    const { rows } = await store.listWaits({ tenant, kinds: ['question', 'doubt'], isAnswered: false, limit: 1_000 });
    for (const { runId, waitId, kind } of rows) {
      if (answered.has(`${runId} ${waitId}`)) continue;
      answered.add(`${runId} ${waitId}`);
      if (kind === 'doubt') doubts += 1;
      await engine.answer(runId, waitId, kind === 'doubt' ? await lookUp(engine, ledger, runId, waitId) : 'yes');
    }
    if (Date.now() > killAt) {
      endpoints.kill();
      kills += 1;
      killAt = Date.now() + killEveryMs;
      // What each endpoint does once a minute. The demo has no minute to wait.
      for (const runId of await engine.listClaimable({ limit: 100 })) await host.wake(runId, 0).catch(() => {});
    }
    completed = (await store.listRuns({ tenant, status: ['completed'], limit: runCount })).rows.length;
    if (!isRestarted && completed > runCount / 4) {
      isRestarted = true;
      await restate.restart(true);
      console.log('the server was killed and started again');
    }
    await pause(50);
  }
  console.log(
    `${completed} of ${runCount} completed in ${((Date.now() - begun) / 1_000).toFixed(1)} s, ${kills} endpoints killed`,
  );
  return doubts;
}

/** What a person does who is asked: looks whether it happened. */
async function lookUp(engine: Engine, ledger: string, runId: string, waitId: string): Promise<string> {
  const question = (await engine.waits(runId)).find((wait) => wait.waitId === waitId);
  return readLedger(ledger).includes(`${runId} ${question?.node.at(-1)}`) ? 'happened' : 'run again';
}

const server = await startRestate();
if (typeof server === 'string') {
  console.error(`${server}. npm install brings it for Linux and macOS.`);
  process.exitCode = 1;
} else
  try {
    process.exitCode = (await main(server)) ? 0 : 1;
  } finally {
    await server.stop();
  }
