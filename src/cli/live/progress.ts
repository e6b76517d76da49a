/** What a run is doing, derived from its events: one row for each node. */
import { describeWorker } from '../../app/process/process-name.ts';
import type { OpenQuestion } from '../../operations/waits/find-wait.ts';
import type { WatchedEvent } from '../../operations/declare/operation.ts';
import { purposeOf } from '../text/wait-text.ts';

export type RowState =
  'running' | 'waiting' | 'retrying' | 'completed' | 'failed' | 'skipped' | 'cancelled' | 'replayed';

export interface ProgressRow {
  /** Node path joined with `/`. */
  readonly node: string;
  readonly state: RowState;
  /** What a node that completed says of its own work, if it did not quite succeed. */
  readonly verdict?: string;
  readonly attempt: number;
  readonly visit: number;
  /** When it was first seen working, in epoch ms; rows are sorted by this. */
  readonly since: number;
  /** When the attempt was seen to start, in epoch ms; absent for nodes that had ended before. */
  readonly startedAt?: number;
  readonly durationMs?: number;
  /** When it goes on by itself, in epoch ms. */
  readonly until?: number;
  /** What it waits for, or why it failed. */
  readonly note?: string;
}

const settled: readonly RowState[] = ['completed', 'failed', 'skipped', 'cancelled'];

function isSettled(status: string | undefined): status is RowState {
  return settled.some((each) => each === status);
}

type Part = Extract<WatchedEvent, { readonly type: 'checkpoint' }>['change'][number];
type RowChange = { readonly [Key in keyof ProgressRow]?: ProgressRow[Key] | undefined };

/** What a part of a checkpoint says about its node; undefined if rows do not show it. */
function readPart({ kind, status = 'completed', verdict, durationMs, error }: Part, at: number): RowChange | undefined {
  switch (kind) {
    case 'settle': {
      const note = error === undefined ? undefined : `${error.code}: ${error.message}`;
      return isSettled(status) ? { state: status, verdict, durationMs, until: undefined, note } : undefined;
    }
    case 'replay':
      return { state: 'replayed', verdict, durationMs: undefined, note: undefined };
    case 'intent':
      return { state: 'running', startedAt: at };
    case 'retry':
      return { state: 'retrying', note: error?.message };
    case 'wait':
      return { state: 'waiting' };
    case 'answer':
      return { state: 'running', note: undefined };
    default:
      return undefined;
  }
}

type Live = Exclude<WatchedEvent, { readonly type: 'checkpoint' | 'state' }>;

interface LiveDetail {
  readonly wait?: OpenQuestion;
  readonly retryAt?: number;
  readonly attempt?: number;
  readonly owner?: string;
  readonly until?: number;
}

/** What a live event says. Its detail is internal to the engine, so fields are used only if they are as expected. */
function readLive({ type, detail }: Live, now: number): RowChange | undefined {
  const { wait, retryAt, attempt, owner, until } = (detail ?? {}) as LiveDetail;
  if (type === 'started')
    return {
      state: 'running',
      verdict: undefined,
      startedAt: now,
      durationMs: undefined,
      until: undefined,
      note: undefined,
    };
  if (type === 'waiting' && until !== undefined)
    return { state: 'waiting', until, note: `${describeWorker(owner ?? 'a process')}, which may be in its effect` };
  if (type === 'waiting')
    return wait === undefined ? { state: 'waiting' } : { state: 'waiting', until: wait.dueAt, note: purposeOf(wait) };
  if (type !== 'retrying') return undefined;
  return { state: 'retrying', until: retryAt, ...(attempt !== undefined && { attempt }) };
}

/** Rows by node, in the order in which nodes began. */
export class Progress {
  readonly #rows = new Map<string, ProgressRow>();

  get rows(): readonly ProgressRow[] {
    return [...this.#rows.values()].sort((a, b) => a.since - b.since);
  }

  /** Applies an event. @returns the rows that changed */
  take(event: WatchedEvent, now: number): readonly ProgressRow[] {
    if (event.type === 'state') return [];
    if (event.type !== 'checkpoint') {
      const change = readLive(event, now);
      return change === undefined ? [] : [this.#set(event.node, now, change)];
    }
    return event.change.flatMap((part) => {
      const change = readPart(part, event.at);
      if (part.node === undefined || part.node.length === 0 || change === undefined) return [];
      const { attempt, visit } = part.step === undefined ? part : { attempt: undefined, visit: part.visit };
      const since = event.at - (part.durationMs ?? 0);
      return [
        this.#set(part.node, since, {
          ...(attempt !== undefined && { attempt }),
          ...(visit !== undefined && { visit }),
          ...change,
        }),
      ];
    });
  }

  /** Applies where the run stopped: a node that stopped at a wait is not working any more. @returns the rows of the waits */
  rest(waits: readonly OpenQuestion[], now: number): readonly ProgressRow[] {
    return waits.map((wait) =>
      this.#set(wait.node, now, { state: 'waiting', until: wait.dueAt, note: purposeOf(wait) }),
    );
  }

  #set(path: readonly string[], since: number, change: RowChange): ProgressRow {
    const node = path.join('/');
    const known = this.#rows.get(node) ?? { node, state: 'running' as const, attempt: 1, visit: 1, since };
    // Attempts are counted anew in each visit.
    const isNewVisit =
      isSettled(known.state) ||
      known.state === 'replayed' ||
      (change.visit !== undefined && change.visit !== known.visit);
    const before = isNewVisit ? { ...known, attempt: 1 } : known;
    // A value of `undefined` removes the field.
    const row = Object.fromEntries(
      Object.entries({ ...before, ...change }).filter(([, value]) => value !== undefined),
    ) as unknown as ProgressRow;
    this.#rows.set(node, row);
    return row;
  }
}
