/** Reports of many users on workers over one store, one killed and one frozen, counted by an oracle outside. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openCairn, openStore, type OpenedStore } from '../../src/index.ts';
import { compileReports, placesAtProvider, placesPerUser } from './graph.ts';
import { CountingOracle, type OracleReport } from './oracle.ts';

const leaseMs = 3_000;
/** How long a frozen worker stands still: its claims are over then. */
const frozenMs = leaseMs + 1_500;
/** The longest without any progress. */
const patienceMs = 90_000;
const script = join(import.meta.dirname, 'worker.ts');

export interface LimitsFleetOptions {
  readonly url: string;
  readonly runs: number;
  readonly users: number;
  readonly workers: number;
  /** How many workers are killed, and how many frozen, at even intervals. */
  readonly kills: number;
  readonly freezes: number;
  readonly tell: (line: string) => void;
}

export interface LimitsFleetReport extends OracleReport {
  readonly completed: number;
  readonly kills: number;
  readonly freezes: number;
  readonly durationMs: number;
  /** How many runs had ended when the first run of the last user had: nobody starved if it is far from all. */
  readonly endedBeforeLastUser: number;
}

class Crew {
  readonly #env: NodeJS.ProcessEnv;
  workers: ChildProcess[] = [];

  constructor(url: string, port: number) {
    this.#env = { ...process.env, CAIRN_STORE: url, CAIRN_ORACLE: String(port), NODE_NO_WARNINGS: '1' };
  }

  async hire(): Promise<void> {
    const child = spawn(process.execPath, [script], { env: this.#env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.workers.push(child);
    await once(child.stdout, 'data');
  }

  async kill(): Promise<void> {
    const child = this.workers.shift();
    if (child === undefined) return;
    const isOver = once(child, 'exit');
    child.kill('SIGKILL');
    await isOver;
    await this.hire();
  }

  /** Stops one until its claims are over: one that has been at work for a while. */
  async freeze(oracle: CountingOracle): Promise<void> {
    const child = this.workers[1] ?? this.workers[0];
    if (child?.pid === undefined) return;
    child.kill('SIGSTOP');
    await delay(50);
    oracle.lapse(child.pid);
    await delay(frozenMs);
    child.kill('SIGCONT');
  }

  async end(): Promise<void> {
    const ends = this.workers.map(async (child) => {
      const isOver = once(child, 'exit');
      child.kill('SIGTERM');
      child.kill('SIGCONT');
      await Promise.race([isOver, delay(10_000).then(() => child.kill('SIGKILL'))]);
    });
    this.workers = [];
    await Promise.all(ends);
  }
}

/** Runs all reports through kills and freezes, then pauses the provider's limit by hand and resumes it. */
export async function runLimitsFleet(options: LimitsFleetOptions): Promise<LimitsFleetReport> {
  const { url, runs, users, workers, tell } = options;
  const startedAt = performance.now();
  const oracle = new CountingOracle({ atProvider: placesAtProvider, perUser: placesPerUser });
  const store = openStore(url);
  const report = compileReports(store, undefined);
  const crew = new Crew(url, await oracle.listen());
  try {
    for (let no = 0; no < runs; no += 50)
      await Promise.all(
        Array.from({ length: Math.min(50, runs - no) }, (_, index) =>
          report.start({ user: userOf(options, no + index) }, { runId: `report-${no + index}`, detach: true }),
        ),
      );
    tell(`${runs} reports of ${users} users are recorded; ${workers} workers begin`);
    for (let count = 0; count < workers; count += 1) await crew.hire();
    const done = await seeThrough(options, store, crew, oracle);
    return { ...oracle.report(), ...done, durationMs: performance.now() - startedAt };
  } finally {
    await crew.end();
    oracle.close();
    await report.close();
    await store.close();
  }
}

type Progress = Pick<LimitsFleetReport, 'completed' | 'kills' | 'freezes' | 'endedBeforeLastUser'>;

async function seeThrough(
  options: LimitsFleetOptions,
  store: OpenedStore,
  crew: Crew,
  oracle: CountingOracle,
): Promise<Progress> {
  const { runs, users, kills, freezes, tell } = options;
  const acts = Array.from({ length: Math.max(kills, freezes) }, (_, index) => [
    ...(index < kills ? (['kill'] as const) : []),
    ...(index < freezes ? (['freeze'] as const) : []),
  ]).flat();
  const all = acts.length;
  let endedBeforeLastUser = 0;
  let under: Promise<void> = Promise.resolve();
  for (let [last, since] = [-1, performance.now()]; ;) {
    const ended = await endedRuns(store);
    const served = new Set(ended.map((runId) => userOf(options, Number(runId.slice('report-'.length)))));
    if (served.size < users) endedBeforeLastUser = ended.length;
    if (ended.length !== last) [last, since] = [ended.length, performance.now()];
    else if (performance.now() - since > patienceMs) {
      await describe(store, tell);
      throw new Error(`stuck with ${ended.length} of ${runs}`);
    }
    if (ended.length >= runs) break;
    const isTime = ended.length >= (0.8 * runs * (all - acts.length + 1)) / (all + 1);
    const act = isTime ? acts.shift() : undefined;
    if (act !== undefined) {
      tell(`${ended.length} of ${runs} have ended: a worker ${act === 'kill' ? 'is killed' : 'freezes'}`);
      under = under.then(() => (act === 'kill' ? crew.kill() : crew.freeze(oracle)));
    }
    await delay(200);
  }
  await under;
  return { completed: runs, kills, freezes, endedBeforeLastUser };
}

/** What is under way, and who has or wants which places: to find out why nothing goes on. */
async function describe(store: OpenedStore, tell: (line: string) => void): Promise<void> {
  const { rows } = await store.listRuns({ tenant: 'default', status: ['running'], graphId: 'report', limit: 100 });
  for (const { runId, claim, claims, deaths, hasMessages } of rows)
    tell(JSON.stringify({ runId, claim, claims, deaths, hasMessages }));
  for (const { name, body } of (await store.limits?.list('default', { limit: 100 })) ?? []) tell(`${name} ${body}`);
  for (const { workerId, remainingMs, body } of await store.listWorkers('default'))
    if (remainingMs > 0) tell(`${workerId} ${Buffer.from(body).toString()}`);
}

/** The first user has half of all reports. */
function userOf({ runs, users }: Pick<LimitsFleetOptions, 'runs' | 'users'>, no: number): string {
  return no < runs / 2 ? 'user-0' : `user-${1 + (no % (users - 1))}`;
}

async function endedRuns(store: OpenedStore): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await store.listRuns({
      tenant: 'default',
      status: ['completed'],
      graphId: 'report',
      limit: 500,
      ...(cursor !== undefined && { cursor }),
    });
    ids.push(...page.rows.map(({ runId }) => runId));
    if (page.cursor === undefined) return ids;
    cursor = page.cursor;
  }
}

/** Pauses the provider's limit by hand while reports run, and resumes it. @returns how many calls began while it was paused, and whether all ended */
export async function pauseByHand(
  url: string,
  tell: (line: string) => void,
): Promise<{ readonly begunWhilePaused: number; readonly isCompleted: boolean }> {
  const oracle = new CountingOracle({ atProvider: placesAtProvider, perUser: placesPerUser });
  const store = openStore(url);
  const report = compileReports(store, undefined);
  const crew = new Crew(url, await oracle.listen());
  const cairn = await openCairn({ store: url });
  try {
    await crew.hire();
    await cairn.changeLimits({ action: 'pause', name: 'provider' });
    await delay(1_500);
    const ids = Array.from({ length: 10 }, (_, index) => `paused-${index}`);
    for (const runId of ids) await report.start({ user: runId }, { runId, detach: true });
    await delay(2_000);
    const begunWhilePaused = oracle.callsSoFar;
    const [shown] = (await cairn.changeLimits({ action: 'resume', name: 'provider' })).limits;
    tell(`cairn limits pause provider: ${begunWhilePaused} calls began, ${shown?.waiting ?? 0} waited`);
    const until = performance.now() + patienceMs;
    const isEnded = async (): Promise<boolean> => {
      const ended = new Set(await endedRuns(store));
      return ids.every((runId) => ended.has(runId));
    };
    while (!(await isEnded()) && performance.now() < until) await delay(200);
    const isCompleted = await isEnded();
    tell(
      `cairn limits resume provider: ${isCompleted ? `all ${ids.length} reports ended` : 'some reports have not ended'}`,
    );
    return { begunWhilePaused, isCompleted };
  } finally {
    await crew.end();
    await cairn.close();
    oracle.close();
    await report.close();
    await store.close();
  }
}
