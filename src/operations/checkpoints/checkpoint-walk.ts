/** Walks the checkpoints of many runs together, newest first. */
import { type LogEntry, readLog } from '../../history/read/log.ts';
import type { RunRow } from '../../ports/store.ts';
import type { ReadContext } from '../declare/operation.ts';

const pageSize = 20;

/** A place among the checkpoints of all runs, newest first. */
export interface Position {
  readonly at: number;
  readonly runId: string;
  readonly seq: number;
}

/** Walks the checkpoints of one run from its head down. */
export class RunWalk {
  readonly run: RunRow;
  readonly #context: ReadContext;
  #page: readonly LogEntry[] = [];
  #next = 0;
  /** Where clocks went back between checkpoints, an older one counts as no newer than the one after it. */
  #at: number = Number.POSITIVE_INFINITY;

  constructor(context: ReadContext, run: RunRow) {
    this.#context = context;
    this.run = run;
  }

  get entry(): LogEntry | undefined {
    return this.#page[this.#next];
  }

  get position(): Position {
    return { at: this.#at, runId: this.run.runId, seq: this.entry?.seq ?? 0 };
  }

  /** Steps to the next older checkpoint. @returns whether there is one */
  async step(): Promise<boolean> {
    const last = this.entry;
    this.#next += 1;
    if (this.entry === undefined) {
      const before = last?.seq ?? this.run.head + 1;
      this.#page = await readLog(this.#context.store, this.run, { limit: pageSize, before });
      this.#next = 0;
    }
    this.#at = Math.min(this.#at, this.entry?.at ?? 0);
    return this.entry !== undefined;
  }
}

export function isAfter(a: Position, b: Position): boolean {
  if (a.at !== b.at) return a.at < b.at;
  return a.runId === b.runId ? a.seq < b.seq : a.runId < b.runId;
}

/** Checkpoints of all walks, newest first: the next is always that of the walk whose own next is newest. */
export async function* newestFirst(walks: readonly RunWalk[]): AsyncGenerator<RunWalk> {
  // A run says when it was last written to, so its history is read only when its turn comes.
  const waiting = [...walks].sort((a, b) => b.run.updatedAt - a.run.updatedAt);
  const open: RunWalk[] = [];
  for (;;) {
    const newest = open.reduce<RunWalk | undefined>(
      (best, walk) => (best === undefined || isAfter(best.position, walk.position) ? walk : best),
      undefined,
    );
    const [unread] = waiting;
    if (unread !== undefined && (newest === undefined || unread.run.updatedAt >= newest.position.at)) {
      waiting.shift();
      if (await unread.step()) open.push(unread);
      continue;
    }
    if (newest === undefined) return;
    yield newest;
    if (!(await newest.step())) open.splice(open.indexOf(newest), 1);
  }
}
