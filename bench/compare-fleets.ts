/**
 * What a run of ten steps takes of the CPU of a fleet, worker and server told apart, beside openworkflow and DBOS in the same
 * interleaved run: `npm run bench:fleets [-- --runs N --reps N --workers 1,2,3 --only PATTERN --beside FOLDER]`, once this checkout is
 * built. `--beside` adds another built checkout. What is printed is of the queue without its first tenth, in which workers start.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { cairnFleet, fillQueue, openPeerFleets, warmUpOf, workQueue, type FleetSystem } from './fleet.ts';
import { NotMeasured } from './group.ts';
import { median } from './median.ts';
import { inOwnDatabase, startServer, type MeasuredServer } from './postgres.ts';
import { openServerCpu } from './process-cpu.ts';

const { values: options } = parseArgs({
  options: {
    runs: { type: 'string', default: '1500' },
    reps: { type: 'string', default: '3' },
    workers: { type: 'string', default: '1,2,3' },
    only: { type: 'string', default: '' },
    beside: { type: 'string' },
  },
});
const runs = Number(options.runs);
const root = resolve(import.meta.dirname, '..');
const cache = join(root, 'node_modules/.cache');
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, 'cairn-fleets-'));

interface Measured {
  readonly seconds: number;
  readonly statements: number;
  readonly workerMs: number;
  readonly serverMs: number;
}

interface Cell {
  readonly system: FleetSystem;
  readonly store: FleetSystem['stores'][number];
  readonly workers: number;
  readonly measured: Measured[];
}

const systems: readonly FleetSystem[] = [
  cairnFleet('Cairn', root, folder),
  ...(options.beside === undefined ? [] : [cairnFleet(`Cairn in ${options.beside}`, options.beside, folder)]),
  ...openPeerFleets(),
];

const cells: readonly Cell[] = (['Postgres', 'SQLite'] as const)
  .flatMap((store) =>
    options.workers
      .split(',')
      .flatMap((workers) =>
        systems
          .filter(({ stores }) => stores.includes(store))
          .map((system): Cell => ({ system, store, workers: Number(workers), measured: [] })),
      ),
  )
  .filter(({ system, store, workers }) => new RegExp(options.only, 'i').test(`${system.name} ${store} ${workers}`));

/** A queue on Postgres, in a database of its own, which is removed. */
async function measureOnPostgres(
  { system, workers }: Cell,
  server: MeasuredServer,
  cpu: () => number,
): Promise<Measured> {
  return inOwnDatabase(server, async (url) => {
    fillQueue(system, url, runs);
    await server.pool.query('select pg_stat_statements_reset()');
    const { seconds, workerMs, serverMs } = await workQueue(system, url, { runs, workers, serverCpu: cpu });
    const { rows } = await server.pool.query(`select sum(calls)::text as calls from pg_stat_statements`);
    return { seconds, workerMs, serverMs, statements: Number(rows[0]?.['calls']) };
  });
}

/** A queue in a file, which is removed. What is asked of SQLite is counted by processes of their own. */
async function measureOnSqlite({ system, workers, measured }: Cell): Promise<Measured> {
  const [queued, worked] = [join(folder, 'queued'), join(folder, 'worked')];
  for (const place of [queued, worked]) rmSync(place, { recursive: true, force: true });
  mkdirSync(queued);
  fillQueue(system, join(queued, 'runs.db'), runs);
  const work = async (env?: Readonly<Record<string, string>>) => {
    rmSync(worked, { recursive: true, force: true });
    cpSync(queued, worked, { recursive: true });
    return workQueue(system, join(worked, 'runs.db'), { runs, workers, ...(env && { env }) });
  };
  const statements = measured[0]?.statements ?? (await work({ COUNT_STATEMENTS: '1' })).statements;
  return { ...(await work()), statements };
}

function print({ system, store, workers, measured }: Cell): void {
  const middle = (value: (one: Measured) => number): number => median(measured.map(value));
  const measuredRuns = runs - warmUpOf(runs);
  const aRun = (value: (one: Measured) => number): string => (middle(value) / measuredRuns).toFixed(2);
  const server = store === 'SQLite' ? '–' : aRun(({ serverMs }) => serverMs);
  const line = [
    `${system.name}, ${store}`,
    workers,
    (measuredRuns / middle(({ seconds }) => seconds)).toFixed(0),
    (middle(({ statements }) => statements) / runs).toFixed(1),
    aRun(({ workerMs }) => workerMs),
    server,
    aRun(({ workerMs, serverMs }) => workerMs + serverMs),
  ];
  console.log(`| ${line.join(' | ')} |`);
}

const server = cells.some(({ store }) => store === 'Postgres')
  ? await startServer(['shared_preload_libraries=pg_stat_statements', 'pg_stat_statements.track_utility=on'])
  : undefined;
await server?.pool.query('create extension if not exists pg_stat_statements');
const cpu = server && (await openServerCpu(server));
for (let repetition = 0; repetition < Number(options.reps); repetition += 1)
  for (const cell of cells) {
    const about = `${cell.system.name}, ${cell.store}, ${cell.workers} workers:`;
    try {
      const measured =
        cell.store === 'SQLite' ? await measureOnSqlite(cell) : await measureOnPostgres(cell, server!, cpu!);
      cell.measured.push(measured);
      console.error(about, JSON.stringify(measured));
    } catch (error) {
      if (!(error instanceof NotMeasured)) throw error;
      console.error(about, error.message);
    }
  }
console.log(
  '| system, store | workers | runs a second | statements a run | worker, CPU ms a run | server, CPU ms | both |',
);
console.log('| --- | ---: | ---: | ---: | ---: | ---: | ---: |');
cells.filter(({ measured }) => measured.length > 0).forEach(print);
await server?.stop();
rmSync(folder, { recursive: true, force: true });
