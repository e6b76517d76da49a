/** What runs cost on Postgres: beside bare statements that write the same bytes on the same server, and with more workers. */
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { createEngineWorker } from '../../src/engine/worker.ts';
import type { Graph } from '../../src/index.ts';
import { chainGraph } from '../graphs.ts';
import type { Group, Repetition } from '../group.ts';
import { makeList, outputOfKib } from '../payload.ts';
import { makeFloorTable, readRows, startServer, type CountedStore, type MeasuredServer } from '../postgres.ts';
import { timeRuns } from '../time-run.ts';

const chainNodes = 1_000;
const [runs, nodes] = [100, 10];
const rowsAtOnce = 100;
const crews = [1, 2, 4] as const;
const crewRuns = 120;

const nameOfChain = 'Postgres: 1,000 write nodes one after another, per node';
const nameOfRuns = 'Postgres: 100 runs x 10 write nodes, warm, per node';
const nameOfStatements = 'Postgres: statements a node of these 100 runs';
const nameOfMore = (what: string, workers: number): string => `Postgres: ${what} a node, ${workers} workers`;
const nameOfLocks = (workers: number): string => `Postgres: connections that wait for a lock, ${workers} workers`;

export const postgresRuns: Group = {
  rows: [
    { name: nameOfChain, against: 'INSERT and COMMIT, one record each', target: 1.4 },
    { name: nameOfRuns, against: 'the same rows in arrays of 100', target: 3 },
    { name: nameOfStatements, against: '0.25', target: 1 },
    ...crews.slice(1).flatMap((workers) => [
      { name: nameOfMore('statements', workers), against: 'one worker', target: 1.1 },
      { name: nameOfMore('bytes of log', workers), against: 'one worker', target: 1.1 },
      { name: nameOfLocks(workers), against: '1 of 100 looks', target: 1.1 },
    ]),
  ],
  warmUps: 2,
  prepare: async () => {
    const server = await startServer();
    const opened = server.open();
    const chain = chainGraph(makeList(chainNodes, outputOfKib), 'write');
    const short = chainGraph(makeList(nodes, outputOfKib), 'write');
    return {
      repeat: async () => ({
        ...(await measureChain(server, opened, chain)),
        ...(await measureRuns(server, opened, short)),
        ...(await measureCrews(server, short)),
      }),
      close: async () => {
        await opened.close();
        await server.stop();
      },
    };
  },
};

async function measureChain(server: MeasuredServer, { store }: CountedStore, graph: Graph): Promise<Repetition> {
  const oursMs = await timeRuns(graph, store);
  const rows = await readRows(server, chainNodes);
  await makeFloorTable(server);
  const connection = await server.pool.connect();
  const text = 'insert into floor (run, seq, at, checksum, body) values ($1, $2, $3, $4, $5)';
  const types = { getTypeParser: () => String };
  const startMs = performance.now();
  for (const row of rows) await connection.query({ name: 'floor', text, values: [...row], types });
  const floorMs = performance.now() - startMs;
  connection.release();
  const perNode = (ms: number): number => (ms / chainNodes) * 1000;
  return { [nameOfChain]: { ours: perNode(oursMs), floor: perNode(floorMs), unit: 'us' } };
}

async function measureRuns(server: MeasuredServer, opened: CountedStore, graph: Graph): Promise<Repetition> {
  const before = opened.statements;
  const oursMs = await timeRuns(graph, opened.store, runs);
  const statements = opened.statements - before;
  const count = runs * nodes;
  const rows = await readRows(server, count);
  await makeFloorTable(server);
  const connection = await server.pool.connect();
  const text = `insert into floor (run, seq, at, checksum, body)
    select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[])`;
  const types = { getTypeParser: () => String };
  const startMs = performance.now();
  for (let done = 0; done < rows.length; done += rowsAtOnce) {
    const part = rows.slice(done, done + rowsAtOnce);
    const values = [0, 1, 2, 3, 4].map((column) => part.map((row) => row[column]));
    await connection.query({ name: 'floors', text, values, types });
  }
  const floorMs = performance.now() - startMs;
  connection.release();
  const perNode = (ms: number): number => (ms / count) * 1000;
  return {
    [nameOfRuns]: { ours: perNode(oursMs), floor: perNode(floorMs), unit: 'us' },
    [nameOfStatements]: { ours: statements / count, floor: 0.25, unit: 'calls' },
  };
}

interface Cost {
  readonly statements: number;
  readonly walBytes: number;
  /** Of 100 looks at the server, how many found a connection that waited for a lock. */
  readonly waiting: number;
}

async function measureCrews(server: MeasuredServer, graph: Graph): Promise<Repetition> {
  const alone = await measureCrew(server, graph, 1);
  const repetition: Record<string, Repetition[string]> = {};
  for (const workers of crews.slice(1)) {
    const cost = await measureCrew(server, graph, workers);
    repetition[nameOfMore('statements', workers)] = { ours: cost.statements, floor: alone.statements, unit: 'calls' };
    repetition[nameOfMore('bytes of log', workers)] = { ours: cost.walBytes, floor: alone.walBytes, unit: 'bytes' };
    repetition[nameOfLocks(workers)] = { ours: cost.waiting, floor: 1, unit: 'calls' };
  }
  return repetition;
}

/** Starts runs that nobody advances, and then so many workers, each with a store and connections of its own. */
async function measureCrew(server: MeasuredServer, graph: Graph, workers: number): Promise<Cost> {
  const admitting = server.open();
  const admitter = createDefaultEngine({ store: admitting.store, wakes: false });
  await Promise.all(Array.from({ length: crewRuns }, () => admitter.start(graph, {}, { detach: true })));
  const walBefore = await server.readWal();
  const ended = Promise.withResolvers<void>();
  let left = crewRuns;
  const crew = Array.from({ length: workers }, () => {
    const opened = server.open();
    const engine = createDefaultEngine({ store: opened.store, wakes: false });
    engine.know(graph);
    const worker = createEngineWorker({
      engine,
      onRested: () => {
        left -= 1;
        if (left === 0) ended.resolve();
      },
    });
    return { opened, engine, worker };
  });
  const stop = lookForLocks(server);
  await ended.promise;
  const waiting = await stop();
  const walBytes = (await server.readWal()) - walBefore;
  const statements = crew.reduce((sum, { opened }) => sum + opened.statements, 0);
  for (const { opened, engine, worker } of crew) {
    await worker.stop();
    await engine.close();
    await opened.close();
  }
  await admitter.close();
  await admitting.close();
  const count = crewRuns * nodes;
  return { statements: statements / count, walBytes: walBytes / count, waiting };
}

/** Looks again and again whether a connection waits for a lock. @returns stops, and tells of how many of 100 looks found one */
function lookForLocks({ pool }: MeasuredServer): () => Promise<number> {
  let [looks, found] = [0, 0];
  const over = new AbortController();
  const looking = (async () => {
    while (!over.signal.aborted) {
      const { rows } = await pool.query(`select 1 from pg_stat_activity where wait_event_type = 'Lock' limit 1`);
      looks += 1;
      found += rows.length;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  return async () => {
    over.abort();
    await looking;
    return (found * 100) / Math.max(1, looks);
  };
}
