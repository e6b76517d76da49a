/** Runs orders on a fleet of worker processes over one Postgres, kills and stops workers, and counts what happened outside. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openHistory, openStore, type OpenedStore } from '../../src/index.ts';
import { readLedger } from '../release-notes/ledger.ts';
import { compileFleet, effectsOfOrder, orders } from './graph.ts';

/** How often it is looked how far the orders are, and for how long at most without any progress. */
const [lookMs, patienceMs] = [50, 120_000];

/** How long a worker stands still: longer than its lease, and shorter than the time in which it may be in the middle of an effect. */
const stopMs = 3_000;

/** How the ids of the runs that the schedule starts begin; their times follow. */
const restockIds = 'cairn:due:restock:';

const script = join(import.meta.dirname, 'worker.ts');

/** One worker process, and what it has said. */
export class WorkerProcess {
  readonly name: string;
  readonly child: ChildProcess;
  readonly lines: string[] = [];

  /** @param dies - at which call of the store it kills itself, such as `before 7` or `after 7` */
  constructor(name: string, url: string, dies?: string) {
    this.name = name;
    this.child = spawn(process.execPath, [script], {
      env: { ...process.env, CAIRN_STORE: url, NODE_NO_WARNINGS: '1', ...(dies && { CAIRN_FLEET_DIES: dies }) },
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

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Ends it, however it stands. */
  async end(name: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.hasEnded) return;
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
  /** How many workers are stopped by SIGSTOP until their lease is over, and go on then. Default 0. */
  readonly stops?: number;
  /** Workers beside the others, one after another, each of which kills itself at a call of the store: `before 7`, `after 7`. */
  readonly dies?: readonly string[];
  /** Numbers from 0 to 1, which choose who is killed. */
  readonly random: () => number;
  readonly tell: (line: string) => void;
  /** Done after each look, such as a crash of the server. */
  readonly disturb?: () => Promise<void>;
}

export interface FleetReport {
  readonly completed: number;
  readonly kills: number;
  readonly stops: number;
  /** Workers that killed themselves at a call of the store. */
  readonly deaths: number;
  /** Runs that the schedule started. */
  readonly restocks: number;
  /** Effects of orders that happened, each counted once. */
  readonly effects: number;
  readonly expectedEffects: number;
  /** Effects with more than one line in the ledger. */
  readonly repeated: readonly string[];
  /** What is wrong with the histories and the schedule, a line each. */
  readonly faults: readonly string[];
  readonly durationMs: number;
}

/** Starts all orders, lets the workers complete them while they are killed, and looks at what is left. */
export async function runFleet(options: FleetOptions): Promise<FleetReport> {
  const { url, ledger, tell } = options;
  const startedAt = performance.now();
  const store = openStore(url);
  const { order, restocks } = compileFleet(store, ledger);
  const crew = new Crew(options);
  try {
    for (let count = 0; count < options.workers; count += 1) crew.hire();
    await persist(() => restocks.start());
    await Promise.all(
      Array.from({ length: options.orders }, (_, index) =>
        persist(() =>
          order.start({ no: index + 1, ledger, paceMs: 20 }, { runId: `order-${index + 1}`, detach: true }),
        ),
      ),
    );
    tell(`${options.orders} orders are recorded, ${options.workers} workers work on them`);
    await seeThrough(options, store, order, crew);
    await persist(() => restocks.stop());
    const history = openHistory(store);
    await waitFor('what the schedule started is over', async () => {
      const open = await persist(() => listAll(history.list({ status: ['running', 'paused'] })));
      return open.length === 0 ? true : undefined;
    });
    await crew.end('SIGTERM');
    const { kills, stops, deaths } = crew;
    return { ...(await count(options, store)), kills, stops, deaths, durationMs: performance.now() - startedAt };
  } finally {
    await crew.end('SIGKILL');
    await order.close();
    await store.close();
  }
}

/** The workers of a fleet, and what is done to them. */
class Crew {
  kills = 0;
  stops = 0;
  deaths = 0;
  readonly #options: FleetOptions;
  readonly #workers: WorkerProcess[] = [];
  /** The one that is to kill itself. */
  #mortal: WorkerProcess | undefined;
  #stopped: { readonly worker: WorkerProcess; readonly until: number } | undefined;
  #hired = 0;

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  hire(): void {
    this.#workers.push(new WorkerProcess(`worker ${(this.#hired += 1)}`, this.#options.url));
  }

  /** Whether there is nothing more to be done to them. */
  get isThrough(): boolean {
    const { kills, stops = 0, dies = [] } = this.#options;
    const isDone = this.kills === kills && this.stops === stops && this.deaths === dies.length;
    return isDone && this.#stopped === undefined;
  }

  /** Kills and stops workers, evenly over the orders. @param done - as many are completed */
  disturb(done: number): void {
    const { orders: all, kills, stops = 0, tell } = this.#options;
    const isDue = (count: number, of: number): boolean => count < of && done >= ((count + 1) * all) / (of + 1);
    this.#moveOn();
    if (isDue(this.kills, kills)) {
      const victim = this.#takeOne();
      victim?.signal('SIGKILL');
      this.kills += 1;
      tell(`${victim?.name} is killed at ${done} of ${all} orders; another takes its place`);
      this.hire();
    }
    if (this.#stopped === undefined && isDue(this.stops, stops)) {
      const worker = this.#takeOne();
      if (worker === undefined) return;
      worker.signal('SIGSTOP');
      this.stops += 1;
      this.#stopped = { worker, until: performance.now() + stopMs };
      tell(`${worker.name} stands still at ${done} of ${all} orders, until its lease is over`);
    }
  }

  #takeOne(): WorkerProcess | undefined {
    return this.#workers.splice(Math.floor(this.#options.random() * this.#workers.length), 1)[0];
  }

  /** Lets who stood still go on, and hires the next one that is to kill itself. */
  #moveOn(): void {
    if (this.#stopped !== undefined && performance.now() >= this.#stopped.until) {
      this.#stopped.worker.signal('SIGCONT');
      this.#workers.push(this.#stopped.worker);
      this.#stopped = undefined;
    }
    if (this.#mortal?.hasEnded === true) {
      this.deaths += 1;
      this.#mortal = undefined;
    }
    const dies = this.#options.dies?.[this.deaths];
    if (this.#mortal === undefined && dies !== undefined)
      this.#mortal = new WorkerProcess(`the one that dies ${dies}`, this.#options.url, dies);
  }

  async end(name: NodeJS.Signals): Promise<void> {
    const others = [this.#mortal, this.#stopped?.worker].filter((worker) => worker !== undefined);
    await Promise.all([...this.#workers, ...others].map((worker) => worker.end(name)));
  }
}

/** Answers questions, and lets workers be killed and stopped, until all orders are completed. */
async function seeThrough(
  options: FleetOptions,
  store: OpenedStore,
  order: ReturnType<typeof compileFleet>['order'],
  crew: Crew,
): Promise<void> {
  const history = openHistory(store);
  let best = '';
  let progressAt = performance.now();
  for (;;) {
    await options.disturb?.();
    const waits = await persist(() => listAll(history.waits()));
    for (const { runId, kind } of waits)
      if (kind === 'question') await persist(() => order.answer(runId, 'approve', 'yes')).catch(ignoreAnswered);
    const runs = await persist(() => listAll(history.list({ status: ['completed'], graphId: 'order' })));
    const done = runs.length;
    crew.disturb(done);
    if (done === options.orders && crew.isThrough) return;
    const progress = `${done} orders are completed, ${crew.deaths} workers have died`;
    if (progress !== best) [best, progressAt] = [progress, performance.now()];
    if (performance.now() - progressAt > patienceMs) throw new Error(`no progress for long: ${progress}`);
    await delay(lookMs);
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
): Promise<Omit<FleetReport, 'kills' | 'stops' | 'deaths' | 'durationMs'>> {
  const times = Map.groupBy(await readLedger(ledger), ({ effect }) => effect);
  const history = openHistory(place);
  const { reports, damage } = await history.verify();
  const completed = await listAll(history.list({ status: ['completed'], graphId: 'order' }));
  const restocks = await listAll(history.list({ status: ['completed'], graphId: 'restock' }));
  const ids = restocks.map(({ runId }) => runId).sort();
  return {
    completed: completed.length,
    restocks: ids.length,
    effects: [...times.keys()].filter((effect) => !effect.startsWith(restockIds)).length,
    expectedEffects: all * effectsOfOrder,
    repeated: [...times].filter(([, lines]) => lines.length > 1).map(([effect]) => effect),
    faults: [
      ...damage,
      ...reports.flatMap(({ runId, faults }) => faults.map(({ message }) => `${runId}: ${message}`)),
      ...missedSeconds(ids).map((runId) => `the schedule did not start ${runId}`),
      ...ids.filter((runId) => !times.has(runId)).map((runId) => `${runId} had no effect`),
    ],
  };
}

/** The runs that a schedule of each second has left out between its first and its last one. */
function missedSeconds(ids: readonly string[]): readonly string[] {
  const [first, last] = [ids[0], ids.at(-1)].map((id = '') => secondOf(id));
  if (first === undefined || last === undefined) return ['anything'];
  const missed: string[] = [];
  for (let time = first; time <= last; time += 1_000) {
    const id = restockIds + new Date(time).toISOString().replace(/[-:]|\.\d+/g, '');
    if (!ids.includes(id)) missed.push(id);
  }
  return missed;
}

function secondOf(id: string): number | undefined {
  const time = Date.parse(id.slice(restockIds.length).replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));
  return id.startsWith(restockIds) && !Number.isNaN(time) ? time : undefined;
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
  readonly isValid: boolean;
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
      isValid: (await openHistory(store).verify(runId)).isValid,
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
