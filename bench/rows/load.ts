/** Loading a checkpoint costs what its state costs, wherever in the history it is. */
import { zstdDecompressSync } from 'node:zlib';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { loadState } from '../../src/history/load/load.ts';
import type { RunRow, Store } from '../../src/ports/store.ts';
import { createStore, hashOf } from '../database.ts';
import { pausingLoopGraph } from '../graphs.ts';
import type { Bench, Group } from '../group.ts';
import { compareInTurns } from '../millis.ts';
import { makeList, messageOf2Kib } from '../payload.ts';
import { timeRuns } from '../time-run.ts';

const checkpoints = 10_000;
const messageCount = 200;
const loads = 10;
const nameOfHead = 'load the paused head of 10,000 checkpoints, 400 KiB of state';
const nameOfWorst = 'load its most expensive checkpoint';

export const load: Group = {
  rows: [
    { name: nameOfHead, against: 'JSON.parse of that state plus one SQLite read', target: 3 },
    { name: nameOfWorst, against: 'a bare loop that reads, hashes and parses the same rows', target: 1.5 },
  ],
  prepare,
};

async function prepare(folder: string): Promise<Bench> {
  const messages = makeList(messageCount, messageOf2Kib);
  const store = createStore(folder, 'normal');
  const graph = pausingLoopGraph(checkpoints, (index) =>
    index < messageCount ? { messages: [messages[index]!] } : {},
  );
  await timeRuns(graph, store, 1, 'paused');
  const [run] = (await store.listRuns({ tenant: 'default' })).rows;
  const bare = new BareReader(folder, await readStateText(store, run!));
  const worst = bare.findWorst();
  const blobs = createMemoryBlobs();
  const loadAt = async (seq: number): Promise<unknown> => (await loadState(store, blobs, run!, seq)).root;
  return {
    repeat: async () => ({
      [nameOfHead]: await compareInTurns(
        loads,
        () => loadAt(run!.head),
        () => bare.readState(),
      ),
      [nameOfWorst]: await compareInTurns(
        loads,
        () => loadAt(worst.seq),
        () => bare.readRows(worst),
      ),
    }),
    close: () => {
      bare.close();
      return store.close();
    },
  };
}

async function readStateText(store: Store, run: RunRow): Promise<string> {
  return JSON.stringify((await loadState(store, createMemoryBlobs(), run)).root);
}

interface Worst {
  readonly seq: number;
  /** The newest snapshot before it; -1: none. */
  readonly snapshotSeq: number;
}

/** Reads our database without us: the rows of its only run. */
class BareReader {
  readonly #db: DatabaseSync;
  readonly #state: DatabaseSync;

  constructor(folder: string, stateText: string) {
    this.#db = new DatabaseSync(join(folder, 'ours.db'), { readOnly: true });
    this.#state = new DatabaseSync(join(folder, 'state.db'));
    this.#state.exec('pragma page_size = 16384; pragma journal_mode = wal; create table state (id integer, json text)');
    this.#state.prepare('insert into state values (1, ?)').run(stateText);
  }

  /** One read and one parse. */
  readState(): unknown {
    const { json } = this.#state.prepare('select json from state where id = 1').get() as { json: string };
    return JSON.parse(json);
  }

  /** The checkpoint with most to read, a row counting as 1 KiB. */
  findWorst(): Worst {
    const sizes = this.#db.prepare('select seq, length(body) as bytes from checkpoints order by seq').all();
    const snapshots = this.#db.prepare('select seq, length(body) as bytes from snapshots').all();
    const snapshotBytes = new Map(snapshots.map((row) => [row['seq'], row['bytes'] as number]));
    let [base, cost, worst] = [-1, 0, { seq: 0, snapshotSeq: -1, cost: 0 }];
    for (const row of sizes) {
      const [seq, bytes] = [row['seq'] as number, row['bytes'] as number];
      const snapshot = snapshotBytes.get(seq);
      if (snapshot !== undefined) [base, cost] = [seq, snapshot];
      cost += bytes + 1024;
      if (cost > worst.cost) worst = { seq, snapshotSeq: base, cost };
    }
    return worst;
  }

  /** The same rows as we read: the snapshot, and all since it. */
  readRows({ seq, snapshotSeq }: Worst): unknown[] {
    const snapshot = this.#db.prepare('select checksum, body from snapshots where seq = ?').all(snapshotSeq);
    const rows = this.#db
      .prepare('select seq, at, checksum, body from checkpoints where seq between ? and ? order by seq')
      .all(Math.max(snapshotSeq, 0), seq);
    const parsed: unknown[] = [];
    for (const { body } of [...snapshot, ...rows] as unknown as readonly { body: Uint8Array }[]) {
      if (hashOf(body).length !== 64) throw new Error('no hash');
      // A checkpoint is one line, a snapshot several.
      const kept = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      // A large snapshot is stored compressed; one that is not begins with a brace.
      const bytes = kept[0] === 0x28 ? zstdDecompressSync(kept) : kept;
      for (let start = 0; start < bytes.length;) {
        const cut = bytes.indexOf('\n', start);
        const end = cut < 0 ? bytes.length : cut;
        parsed.push(JSON.parse(bytes.toString('utf8', start, end)));
        start = end + 1;
      }
    }
    return parsed;
  }

  close(): void {
    this.#db.close();
    this.#state.close();
  }
}
