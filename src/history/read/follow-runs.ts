/** Follows many runs in one stream: those that a filter names, those that are started meanwhile included. */
import { isRunOver } from '../../state/tree.ts';
import { hash as digest } from 'node:crypto';
import { CairnError } from '../../errors.ts';
import type { RunRow, RunQuery } from '../../ports/store.ts';
import {
  type Cursor,
  cursorText,
  eventsSince,
  isReplaced,
  type RecordedEvent,
  type FollowPlace,
  readCursor,
  shortestPauseMs,
  staleReadsMax,
  timer,
} from './follow.ts';

/** Where a run stood when it came into the stream. Its events after `seq` follow. */
export interface FollowedRun {
  readonly type: 'run';
  readonly runId: string;
  readonly graphId: string;
  readonly status: RunRow['status'];
  readonly seq: number;
}

/** An event of one of the runs, and the place of the whole stream behind it: pass it as `after` to go on there. */
export type FollowedRunsEvent = { readonly position: string; readonly event: FollowedRun | RecordedEvent };

export interface FollowRunsOptions {
  /** Only runs that have all of these labels. Default: all runs. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Only runs of this graph. */
  readonly graph?: string;
  /** The position of the last event seen. Default: from now on, beginning with where each open run stands. */
  readonly after?: string;
  /** Ends it. */
  readonly signal?: AbortSignal;
}

/** Open runs that one stream follows at most. */
const runsMax = 200;
const longestPauseMs = 1_000;
/** Clocks of machines that start runs may differ by so much. */
const skewMs = 60_000;
/** A run that has ended stays in the stream for so long: a server that crashes may take back what it had not written to its disk yet. */
const endedMs = 5_000;
const open = ['running', 'paused'] as const;

/** Runs created before `since` that are not listed have ended, and all of them was seen or came before the stream. */
interface Position {
  since: number;
  readonly runs: Map<string, Cursor>;
}

type Filter = Pick<RunQuery, 'tenant' | 'labels' | 'graphId'>;

/** Tells filters apart, so that a position is not used with another one. */
function markOf({ graphId = '', labels = {} }: Filter): string {
  const names = Object.keys(labels).sort((one, other) => (one < other ? -1 : 1));
  const filter = JSON.stringify([graphId, names.map((name) => [name, labels[name]])]);
  return digest('sha256', filter, 'hex').slice(0, 8);
}

function writePosition(mark: string, { since, runs }: Position): string {
  const entries = [...runs].map(([runId, cursor]) => [runId, cursorText(cursor)]);
  return `${mark}.${Buffer.from(JSON.stringify([since, entries])).toString('base64url')}`;
}

/** @throws USAGE_INVALID it is no position, or one of another filter */
function readPosition(mark: string, text: string): Position {
  const invalid = (reason: string): CairnError =>
    new CairnError('USAGE_INVALID', { reason, hint: 'Give the id of the last event seen, or none.' });
  const [own, body = ''] = text.split('.', 2);
  if (own !== mark) throw invalid('the position is not one of this stream');
  try {
    const [since, entries] = JSON.parse(Buffer.from(body, 'base64url').toString()) as [number, [string, string][]];
    if (!Number.isSafeInteger(since) || entries.length > 2 * runsMax) throw new Error('out of range');
    return { since, runs: new Map(entries.map(([runId, cursor]) => [runId, readCursor(cursor)])) };
  } catch {
    throw invalid('the position is damaged');
  }
}

/**
 * @throws USAGE_INVALID at once: a position that is none. The iteration throws USAGE_INVALID where too many runs are open; STORE_* as the
 * store
 */
export function followRuns(
  place: FollowPlace,
  { labels, graph, after, signal }: FollowRunsOptions = {},
): AsyncGenerator<FollowedRunsEvent, void> {
  const filter: Filter = {
    tenant: place.tenant,
    ...(labels !== undefined && { labels }),
    ...(graph !== undefined && { graphId: graph }),
  };
  const mark = markOf(filter);
  const from = after === undefined || after === '' ? undefined : readPosition(mark, after);
  return new RunsStream(place, filter, mark, signal).events(from);
}

/** What this process knows of a run in the stream. */
interface Look {
  /** Of the row whose events were reported. */
  updatedAt?: number;
  /** When it was seen first that the run has ended. */
  endedAt?: number;
  /** How often in succession its history became another one while it was read. */
  failures: number;
}

class RunsStream {
  readonly #place: FollowPlace;
  readonly #filter: Filter;
  readonly #mark: string;
  readonly #signal: AbortSignal | undefined;
  readonly #looks = new Map<string, Look>();

  constructor(place: FollowPlace, filter: Filter, mark: string, signal: AbortSignal | undefined) {
    this.#place = place;
    this.#filter = filter;
    this.#mark = mark;
    this.#signal = signal;
  }

  async *events(from: Position | undefined): AsyncGenerator<FollowedRunsEvent, void> {
    const { pause = timer, now = Date.now } = this.#place;
    const position = from ?? { since: now(), runs: new Map<string, Cursor>() };
    const withCursor = (event: FollowedRun | RecordedEvent): FollowedRunsEvent => ({
      position: writePosition(this.#mark, position),
      event,
    });
    const isOver = (): boolean => this.#signal?.aborted === true;
    let pauseMs = shortestPauseMs;
    while (!isOver()) {
      const at = now();
      let isNew = false;
      const rows = await this.#rows(position);
      for (const run of rows) {
        const look = this.#lookAt(run.runId);
        // A store that lost its newest checkpoints may have others under the same numbers by now.
        if (position.runs.get(run.runId)?.seq === run.head && look.updatedAt === run.updatedAt) continue;
        try {
          for await (const event of this.#eventsOf(run, position)) {
            isNew = true;
            look.failures = 0;
            yield withCursor(event);
            if (isOver()) return;
          }
          look.updatedAt = run.updatedAt;
        } catch (error) {
          if ((look.failures += 1) > staleReadsMax || !(await isReplaced(this.#place.store, run, error))) throw error;
          isNew = true;
        }
      }
      this.#forget(position, rows, at);
      pauseMs = isNew ? shortestPauseMs : Math.min(longestPauseMs, 2 * pauseMs);
      await pause(pauseMs, this.#signal);
    }
  }

  #lookAt(runId: string): Look {
    let look = this.#looks.get(runId);
    if (look === undefined) this.#looks.set(runId, (look = { failures: 0 }));
    return look;
  }

  /** Rows of the runs that are open, that were started since, and that were followed so far, oldest first. */
  async #rows({ since, runs }: Position): Promise<readonly RunRow[]> {
    const { store, tenant } = this.#place;
    const found = new Map<string, RunRow>();
    const take = async (query: Pick<RunQuery, 'status' | 'since'>): Promise<void> => {
      let cursor: string | undefined;
      do {
        const page = await store.listRuns({ ...this.#filter, ...query, limit: 200, ...(cursor && { cursor }) });
        for (const row of page.rows) found.set(row.runId, row);
        cursor = page.cursor;
        if (found.size > 2 * runsMax)
          throw new CairnError('USAGE_INVALID', {
            reason: `over ${runsMax} runs are open`,
            hint: 'Follow fewer of them, by a label or a graph.',
          });
      } while (cursor !== undefined);
    };
    await take({ status: open });
    await take({ since });
    for (const runId of runs.keys()) {
      const row = found.get(runId) ?? (await store.readRun({ tenant, runId }));
      if (row === undefined) runs.delete(runId);
      else found.set(runId, row);
    }
    return [...found.values()].sort((one, other) => one.createdAt - other.createdAt);
  }

  async *#eventsOf(run: RunRow, position: Position): AsyncGenerator<FollowedRun | RecordedEvent> {
    const { runId, graphId, status, head, createdAt } = run;
    let cursor = position.runs.get(runId);
    if (cursor === undefined) {
      // One that was there before, or that goes on after it had ended, is followed from where it stands.
      const seq = createdAt >= position.since ? -1 : head;
      cursor = { seq };
      position.runs.set(runId, cursor);
      yield { type: 'run', runId, graphId, status, seq };
    }
    if (cursor.seq === head && cursor.check === undefined) return;
    for await (const event of eventsSince(this.#place, run, cursor)) {
      position.runs.set(runId, event.type === 'reset' ? { seq: -1 } : readCursor(event.cursor));
      yield event;
    }
  }

  /** Runs that have ended long enough ago, and of which everything was reported, need no place in the position. */
  #forget(position: Position, rows: readonly RunRow[], at: number): void {
    const since = Math.max(position.since, at - skewMs);
    for (const { runId, status, head, createdAt } of rows) {
      const look = this.#lookAt(runId);
      if (!isRunOver(status)) delete look.endedAt;
      else if (createdAt < since && position.runs.get(runId)?.seq === head) {
        look.endedAt ??= at;
        if (at - look.endedAt >= endedMs) position.runs.delete(runId);
      }
    }
    for (const runId of this.#looks.keys()) if (!position.runs.has(runId)) this.#looks.delete(runId);
    position.since = since;
  }
}
