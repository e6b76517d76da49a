/** A query of a long history, as of a repository, costs about what reading its rows costs. */
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { openHistory, type History } from '../../src/index.ts';
import { createStore, hashOf } from '../database.ts';
import { pausingLoopGraph } from '../graphs.ts';
import type { Bench, Group } from '../group.ts';
import { compareInTurns } from '../millis.ts';
import { messageOf2Kib } from '../payload.ts';
import { timeRuns } from '../time-run.ts';

const checkpoints = 10_000;
const messageCount = 200;
const forkCount = 100;
const times = 5;
const nameOfBlame = 'blame a list whose items were appended in the first 200 of 10,000 checkpoints';
const nameOfBisect = 'bisect 10,000 checkpoints for what holds nowhere, asked at each';
const nameOfGraph = 'graph of a run of 10,000 checkpoints with 100 forks';
const rows = 'a bare loop that reads, hashes and parses the same rows';

export const trace: Group = {
  rows: [
    { name: nameOfBlame, against: rows, target: 2 },
    { name: nameOfBisect, against: rows, target: 2 },
    { name: nameOfGraph, against: 'a bare loop that asks for the same runs, tags and first rows', target: 2 },
  ],
  prepare,
};

async function prepare(folder: string): Promise<Bench> {
  const store = createStore(folder, 'normal');
  const graph = pausingLoopGraph(checkpoints, (index) =>
    index < messageCount ? { messages: [messageOf2Kib(index)] } : {},
  );
  await timeRuns(graph, store, 1, 'paused');
  const [run] = (await store.listRuns({ tenant: 'default' })).rows;
  const { runId } = run!;
  const engine = createDefaultEngine({ store });
  for (let count = 0; count < forkCount; count += 1) await engine.fork({ runId, seq: 5_000 + count });
  await engine.close();
  const history = openHistory(store);
  const bare = new BareTable(folder);
  return {
    repeat: async () => ({
      [nameOfBlame]: await compareInTurns(
        times,
        () => blame(history, runId),
        () => bare.readAll(),
      ),
      [nameOfBisect]: await compareInTurns(
        times,
        () => bisect(history, runId),
        () => bare.readAll(),
      ),
      [nameOfGraph]: await compareInTurns(
        times,
        () => history.graph(runId),
        () => bare.readForks(runId),
      ),
    }),
    close: () => {
      bare.close();
      return store.close();
    },
  };
}

async function blame(history: History, runId: string): Promise<void> {
  const { parts } = await history.blame(runId, 'scratch.messages');
  if (parts.length !== messageCount) throw new Error(`${parts.length} parts`);
}

async function bisect(history: History, runId: string): Promise<void> {
  const { found, evaluated } = await history.bisect(runId, 'scratch.count > 1000000');
  if (found !== undefined || evaluated < checkpoints) throw new Error(`evaluated at ${evaluated}`);
}

/** Reads our database without us. */
class BareTable {
  readonly #db: DatabaseSync;
  readonly #forks: StatementSync;
  readonly #tags: StatementSync;
  readonly #first: StatementSync;

  constructor(folder: string) {
    this.#db = new DatabaseSync(join(folder, 'ours.db'), { readOnly: true });
    this.#forks = this.#db.prepare("select * from runs where tenant = 'default' and parent_run = ? order by no");
    this.#tags = this.#db.prepare('select * from tags where run = ?');
    this.#first = this.#db.prepare('select seq, checksum, body from checkpoints where id = ?');
  }

  /** Every row of the run that was there first. */
  readAll(): number {
    const rowsOf = this.#db.prepare('select seq, at, checksum, body from checkpoints where run = 1 order by id').all();
    return (rowsOf as unknown as readonly Row[]).map(parse).length;
  }

  /** Each fork, its tags and its first row, and whether it has forks itself. */
  readForks(runId: string): number {
    const runs = this.#forks.all(runId) as unknown as readonly { readonly no: number; readonly run_id: string }[];
    const { newest } = this.#db.prepare('select max(id) as newest from checkpoints').get() as {
      readonly newest: number;
    };
    for (const [index, { no, run_id: id }] of runs.entries()) {
      this.#tags.all(no);
      // The first rows of forks are the newest of the table.
      parse(this.#first.get(newest - index) as unknown as Row);
      if (this.#forks.all(id).length > 0) throw new Error('it has forks');
    }
    return runs.length;
  }

  close(): void {
    this.#db.close();
  }
}

interface Row {
  readonly body: Uint8Array;
}

function parse({ body }: Row): unknown {
  if (hashOf(body).length !== 64) throw new Error('no hash');
  return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString());
}
