/** What a run is doing, put together from its events: one row for each node. */
import type { WatchedEvent } from '../operations/operation.ts';

export type RowState =
  'running' | 'waiting' | 'retrying' | 'completed' | 'failed' | 'skipped' | 'cancelled' | 'replayed';

export interface ProgressRow {
  /** Node path joined with `/`. */
  readonly node: string;
  readonly state: RowState;
  readonly attempt: number;
  readonly visit: number;
  /** Epoch ms when the attempt was seen to start; absent for what was over before. */
  readonly startedAt?: number;
  readonly durationMs?: number;
  /** What it waits for, or why it failed. */
  readonly note?: string;
}

const settled: readonly RowState[] = ['completed', 'failed', 'skipped', 'cancelled'];

function isSettled(status: string | undefined): status is RowState {
  return settled.some((each) => each === status);
}

/** Rows by node, in the order in which nodes were first seen. */
export class Progress {
  readonly #rows = new Map<string, ProgressRow>();
  #seq = 0;

  get rows(): readonly ProgressRow[] {
    return [...this.#rows.values()];
  }

  /** The newest checkpoint seen. */
  get seq(): number {
    return this.#seq;
  }

  /** Takes an event in. @returns the rows that it changed */
  take(event: WatchedEvent, now: number): readonly ProgressRow[] {
    if (event.type === 'state') return [];
    if (event.type !== 'checkpoint') {
      if (event.type !== 'started') return [];
      return [this.#set(event.node, { state: 'running', startedAt: now })];
    }
    this.#seq = event.seq;
    return event.change.flatMap((part) => {
      const { node, kind } = part;
      if (node === undefined || node.length === 0) return [];
      const place = {
        ...(part.attempt !== undefined && { attempt: part.attempt }),
        ...(part.visit !== undefined && { visit: part.visit }),
      };
      if (kind === 'settle' && isSettled(part.status)) {
        const note = part.error === undefined ? undefined : `${part.error.code}: ${part.error.message}`;
        return [this.#set(node, { ...place, state: part.status, durationMs: part.durationMs, note })];
      }
      if (kind === 'replay')
        return [this.#set(node, { ...place, state: 'replayed', durationMs: undefined, note: undefined })];
      if (kind === 'intent') return [this.#set(node, { ...place, state: 'running', startedAt: event.at })];
      if (kind === 'retry') return [this.#set(node, { ...place, state: 'retrying', note: part.error?.message })];
      if (kind === 'wait') return [this.#set(node, { ...place, state: 'waiting', note: part.step ?? 'answer' })];
      if (kind === 'answer') return [this.#set(node, { ...place, state: 'running', note: undefined })];
      return [];
    });
  }

  #set(
    path: readonly string[],
    change: { readonly [Key in keyof ProgressRow]?: ProgressRow[Key] | undefined },
  ): ProgressRow {
    const node = path.join('/');
    const before = this.#rows.get(node) ?? { node, state: 'running' as const, attempt: 1, visit: 1 };
    // `undefined` takes a part away.
    const row = Object.fromEntries(
      Object.entries({ ...before, ...change }).filter(([, value]) => value !== undefined),
    ) as unknown as ProgressRow;
    this.#rows.set(node, row);
    return row;
  }
}
