/** Converts a run's row between the tables and the port. */

import type { RunRow, StoredStatus, WaitRow } from '../../../ports/store.ts';
import { headSeq } from './checkpoint-places.ts';
import { asBytes, readText } from './text-columns.ts';
import { bytesOf } from './byte-columns.ts';
import { checkOf, type CheckedColumns } from './row-check.ts';

/** A status is stored as its index in this list, which is part of the layout. The last one marks runs that were never claimed. */
const statuses: readonly StoredStatus[] = ['running', 'paused', 'completed', 'failed', 'cancelled', 'running'];

export const waitingCode = 5;

export const statusCode = (status: StoredStatus): number => statuses.indexOf(status);

/** The codes of these statuses; of all if none are given. */
export function codesOf(wanted?: readonly StoredStatus[]): number[] {
  return [...statuses.keys()].filter((code) => wanted === undefined || wanted.includes(statuses[code] ?? 'running'));
}

/** Due time of a wait that is never due, so that it sorts last. */
export const never: number = Number.MAX_SAFE_INTEGER;

export const dueOf = (wait: Pick<WaitRow, 'dueAt'>): number => wait.dueAt ?? never;

const texts = ['r.tenant', 'r.run_id', 'r.key', 'r.graph_id', 'r.graph_hash', 'r.parent_run', 'r.owner'];

/** Columns added in the third layout, and their replacements in files of an older one. */
const scheduleColumns = `r.priority, r.due, ${asBytes('r.queue')}, ${asBytes('r.queue_key')}`;
const noSchedule = "0 as priority, r.created_at as due, x'' as queue, null as queue_key";
/** The column added in the fourth layout, and its replacement in files of an older one. */
const checkColumn = 'r.check_value';
const noCheck = 'null as check_value';

/**
 * The columns that `toRunRow` reads, of a run `r` and its head `h`. The head is looked up and not stored, so that a commit need not write
 * the run's row.
 */
export const runColumns = (layout: number): string => `
  r.no, r.status, r.created_at, r.parent_seq, r.meta, r.lease_until, r.pruned_below, ${texts.map(asBytes).join(', ')},
  ${layout < 3 ? noSchedule : scheduleColumns}, ${layout < 4 ? noCheck : checkColumn}, ${headSeq(layout < 3 ? '0' : 'r.head_seen')} as head,
  h.at as updated_at,
  exists (select 1 from messages where run = r.no and is_taken = 0) as has_messages`;

/** Columns that tell of forks and tags. They take as long as half of the others, so that only listings of forks have them. */
export const toldColumns = `
  exists (select 1 from runs f indexed by runs_by_parent where f.tenant = r.tenant and f.parent_run = r.run_id) as has_forks,
  exists (select 1 from tags where run = r.no) as has_tags`;

export interface StoredRun extends CheckedColumns {
  readonly graph_hash: Uint8Array;
  readonly status: number;
  readonly owner: Uint8Array | null;
  readonly lease_until: number;
  readonly pruned_below: number;
  readonly check_value: number | null;
  readonly head: number;
  readonly updated_at: number | null;
  readonly has_messages: number;
  readonly has_forks?: number;
  readonly has_tags?: number;
}

/** Whether a row is not as it was written, as far as its check value and its status tell. */
export function isDamagedRow(row: StoredRun): boolean {
  return statuses[row.status] === undefined || (row.check_value !== null && row.check_value !== checkOf(row));
}

export function toRunRow(row: StoredRun, now: number): RunRow {
  const { parent_run, parent_seq, owner, queue_key } = row;
  const remainingMs = row.lease_until - now;
  return {
    tenant: readText(row.tenant),
    runId: readText(row.run_id),
    key: readText(row.key),
    graphId: readText(row.graph_id),
    graphHash: readText(row.graph_hash),
    status: statuses[row.status] ?? 'running',
    head: row.head,
    createdAt: row.created_at,
    updatedAt: row.updated_at ?? row.created_at,
    ...(parent_run === null || parent_seq === null ? {} : { parent: { runId: readText(parent_run), seq: parent_seq } }),
    meta: bytesOf(row.meta),
    ...(owner === null || remainingMs <= 0 ? {} : { claim: { workerId: readText(owner), remainingMs } }),
    ...(isDamagedRow(row) && { isDamaged: true as const }),
    hasMessages: row.has_messages === 1,
    ...(row.has_forks !== undefined && { hasForks: row.has_forks === 1 }),
    ...(row.has_tags !== undefined && { hasTags: row.has_tags === 1 }),
    prunedBelow: row.pruned_below,
    schedule: {
      queue: readText(row.queue),
      priority: row.priority,
      dueAt: row.due,
      ...(queue_key === null ? {} : { key: readText(queue_key) }),
    },
  };
}
