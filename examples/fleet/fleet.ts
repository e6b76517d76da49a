/** Runs orders on a fleet of worker processes over one Postgres, kills workers at random, and counts what happened outside. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openHistory, openStore, type OpenedStore } from '../../src/index.ts';
import { readLedger } from '../release-notes/ledger.ts';
import { effectsOfOrder, orders } from './graph.ts';

/** How often it is looked how far the orders are, and for how long at most without any progress. */
const [lookMs, patienceMs] = [50, 120_000];

const script = join(import.meta.dirname, 'worker.ts');

/** One worker process, and what it has said. */
export class WorkerProcess {
  readonly name: string;
  readonly child: ChildProcess;
  readonly lines: string[] = [];

  constructor(name: string, url: string) {
    this.name = name;
    this.child = spawn(process.execPath, [script], {
      env: { ...process.env, CAIRN_STORE: url, NODE_NO_WARNINGS: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let rest = '';
    this.child.stdout?.on('data', (chunk: Buffer) => {
      const parts = (rest + chunk.toString()).split('\n');
      rest = parts.pop() ?? '';
      this.lines.push(...parts);
    });
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  /** Ends it, however it stands. */
  async end(name: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const isOver = once(this.child, 'exit');
    this.child.kill(name);
    this.child.kill('SIGCONT');
    await isOver;
  }
}

/** The first value that is not undefined. @throws it did not come within the patience */
export async function waitFor<Found>(what: string, look: () => Promise<Found | undefined>): Promise<Found> {
  for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += lookMs) {
    const found = await look();
    if (found !== undefined) return found;
    await delay(lookMs);
  }
  throw new Error(`it took too long: ${what}`);
}

export interface FleetOptions {
  /** URL of the Postgres store. */
  readonly url: string;
  /** File of the ledger: one of its own. */
  readonly ledger: string;
  readonly orders: number;
  readonly workers: number;
  /** How many workers are killed. */
  readonly kills: number;
  /** Numbers from 0 to 1, which choose who is killed. */
  readonly random: () => number;
  readonly tell: (line: string) => void;
  /** Done after each look, such as a crash of the server. */
  readonly disturb?: () => Promise<void>;
}

export interface FleetReport {
  readonly completed: number;
  readonly kills: number;
  /** Effects that happened, each counted once. */
  readonly effects: number;
  readonly expectedEffects: number;
  /** Effects with more than one line in the ledger. */
  readonly repeated: readonly string[];
  /** What is wrong with the histories, a line each. */
  readonly faults: readonly string[];
  readonly durationMs: number;
}

/** Starts all orders, lets the workers complete them while they are killed, and looks at what is left. */
export async function runFleet(options: FleetOptions): Promise<FleetReport> {
  const { url, ledger, kills, tell } = options;
  const startedAt = performance.now();
  const store = openStore(url);
  const graph = orders.compile({ store, wakes: false });
  const crew: WorkerProcess[] = [];
  let spawned = 0;
  const hire = (): void => void crew.push(new WorkerProcess(`worker ${(spawned += 1)}`, url));
  try {
    for (let count = 0; count < options.workers; count += 1) hire();
    await Promise.all(
      Array.from({ length: options.orders }, (_, index) =>
        persist(() =>
          graph.start({ no: index + 1, ledger, paceMs: 20 }, { runId: `order-${index + 1}`, detach: true }),
        ),
      ),
    );
    tell(`${options.orders} orders are recorded, ${crew.length} workers work on them`);
    const killed = await seeThrough(options, store, (done) => {
      const victim = crew.splice(Math.floor(options.random() * crew.length), 1)[0];
      if (victim === undefined) return;
      victim.signal('SIGKILL');
      tell(`${victim.name} is killed at ${done} of ${options.orders} orders; another takes its place`);
      hire();
    });
    await Promise.all(crew.map((worker) => worker.end()));
    return { ...(await count(options, store)), kills: killed, durationMs: performance.now() - startedAt };
  } finally {
    await Promise.all(crew.map((worker) => worker.end('SIGKILL')));
    await graph.close();
    await store.close();
  }

  /** Answers questions and kills, evenly over the orders, until all are completed. */
  async function seeThrough(
    { orders: all }: FleetOptions,
    place: OpenedStore,
    kill: (done: number) => void,
  ): Promise<number> {
    const history = openHistory(place);
    let killed = 0;
    let best = 0;
    let progressAt = performance.now();
    for (;;) {
      await options.disturb?.();
      const waits = await persist(() => listAll(history.waits()));
      for (const { runId, kind } of waits)
        if (kind === 'question') await persist(() => graph.answer(runId, 'approve', 'yes')).catch(ignoreAnswered);
      const runs = await persist(() => listAll(history.list({ status: ['completed'] })));
      const done = runs.filter(({ runId }) => runId.startsWith('order-')).length;
      if (done > best) [best, progressAt] = [done, performance.now()];
      if (killed < kills && done >= ((killed + 1) * all) / (kills + 1)) {
        kill(done);
        killed += 1;
      }
      if (done === all) return killed;
      if (performance.now() - progressAt > patienceMs)
        throw new Error(`no order was completed for long: ${done} of ${all}`);
      await delay(lookMs);
    }
  }
}

/** Does it again while the server is away: each of these calls may be repeated. */
async function persist<Done>(call: () => Promise<Done>): Promise<Done> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'STORE_UNAVAILABLE' || tries >= 100) throw error;
      await delay(lookMs);
    }
  }
}

/** What is left when all is over. */
async function count(
  { orders: all, ledger }: FleetOptions,
  place: OpenedStore,
): Promise<Omit<FleetReport, 'kills' | 'durationMs'>> {
  const times = Map.groupBy(await readLedger(ledger), ({ effect }) => effect);
  const history = openHistory(place);
  const { reports, damage } = await history.verify();
  const runs = await listAll(history.list({ status: ['completed'] }));
  return {
    completed: runs.filter(({ runId }) => runId.startsWith('order-')).length,
    effects: times.size,
    expectedEffects: all * effectsOfOrder,
    repeated: [...times].filter(([, lines]) => lines.length > 1).map(([effect]) => effect),
    faults: [...damage, ...reports.flatMap(({ runId, faults }) => faults.map(({ message }) => `${runId}: ${message}`))],
  };
}

async function listAll<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** A question that was answered a moment ago is listed until its run has taken the answer. */
function ignoreAnswered(error: unknown): void {
  const { code } = error as { code?: unknown };
  if (code !== 'WAIT_CLOSED' && code !== 'ANSWER_CONFLICT') throw error;
}

export interface MovedReport {
  readonly status: string;
  readonly effects: number;
  readonly repeated: readonly string[];
  readonly isSound: boolean;
  /** What the worker that was stopped said of the order afterwards; nothing, because it was another's by then. */
  readonly saidByStopped: readonly string[];
}

/**
 * An order begins on SQLite, is moved to Postgres while it waits for its answer, is taken up by a worker that is stopped in the middle of
 * paying, and is completed by another one. Then the first one goes on, and finds that the order is not its own any more.
 */
export async function moveAndTakeOver({
  url,
  ledger,
  file,
  tell,
}: Pick<FleetOptions, 'url' | 'ledger' | 'tell'> & { readonly file: string }): Promise<MovedReport> {
  const [runId, no] = ['moved', 0];
  const [local, store] = [openStore(`sqlite:${file}`), openStore(url)];
  const here = orders.compile({ store: local });
  const there = orders.compile({ store, wakes: false });
  const crew: WorkerProcess[] = [];
  try {
    const { status } = await here.invoke({ no, ledger, paceMs: 1_000 }, { runId });
    tell(`an order began on SQLite and is ${status}: a person is asked`);
    await openHistory(store).import(openHistory(local).export(runId, { move: true }), { move: true });
    tell('it is moved to Postgres');
    const first = new WorkerProcess('the first worker', url);
    crew.push(first);
    await there.answer(runId, 'approve', 'yes');
    const entriesOf = async (effect: string): Promise<number> =>
      (await readLedger(ledger)).filter((entry) => entry.effect === effect).length;
    await waitFor('the first worker pays', async () => ((await entriesOf(`pay ${no}`)) > 0 ? true : undefined));
    first.signal('SIGSTOP');
    const said = first.lines.length;
    tell('the first worker has paid, and stands still before it could say so; its lease runs out');
    crew.push(new WorkerProcess('the second worker', url));
    const result = await waitFor('the second worker completes the order', async () => {
      const found = await there.engine.inspect(runId);
      return found.status === 'running' || found.status === 'paused' ? undefined : found;
    });
    tell(`the second worker looked the payment up, and the order is ${result.status}`);
    first.signal('SIGCONT');
    await there.start({ no: -1, ledger }, { runId: 'after', detach: true });
    await waitFor(
      'the order after',
      async () => (await there.engine.inspect('after')).status === 'completed' || undefined,
    );
    await Promise.all(crew.map((worker) => worker.end()));
    const names = [`reserve ${no} a`, `reserve ${no} b`, `pay ${no}`];
    const counts = await Promise.all(names.map(entriesOf));
    return {
      status: result.status,
      effects: counts.filter((lines) => lines > 0).length,
      repeated: names.filter((_, index) => (counts[index] ?? 0) > 1),
      isSound: (await openHistory(store).verify(runId)).isSound,
      saidByStopped: first.lines.slice(said).filter((line) => line.endsWith(` ${runId}`)),
    };
  } finally {
    await Promise.all(crew.map((worker) => worker.end('SIGKILL')));
    for (const opened of [here, there, local, store]) await opened.close();
  }
}

/** Whether nothing was lost and nothing repeated. */
export const isWhole = ({ completed, effects, expectedEffects, repeated, faults }: FleetReport, all: number): boolean =>
  completed === all && effects === expectedEffects && repeated.length === 0 && faults.length === 0;
