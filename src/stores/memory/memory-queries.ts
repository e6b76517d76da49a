/** Listings of the memory store: filter, order, cut a page. */

import { CairnError } from '../../errors.ts';
import type { OpenWait, Page, RunQuery, RunRow, WaitQuery } from '../../ports/store.ts';
import { copyWait, handOut, hasMessages, isClaimed, toRunRow, type MemoryRun, type StoredWait } from './memory-run.ts';

const pageSize = 100;

function readCursor(cursor: string, parts: number): readonly number[] {
  const numbers = cursor.split('.').map(Number);
  if (numbers.length !== parts || numbers.some(Number.isNaN)) {
    throw new CairnError('USAGE_INVALID', { reason: `${cursor} is not a cursor of this store` });
  }
  return numbers;
}

/** Orders strings by code point, as a database that keeps UTF-8 does. */
export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

function isClaimable(run: MemoryRun, at: number, now: number): boolean {
  if (isClaimed(run, now)) return false;
  if (run.status === 'running' || hasMessages(run)) return true;
  return [...run.waits.values()].some(({ wait }) => wait.dueAt !== undefined && wait.dueAt <= at);
}

export function listRuns(runs: Iterable<MemoryRun>, query: RunQuery, now: number): Page<RunRow> {
  const { status, graphId, parentRunId, claimableAt, limit = pageSize } = query;
  const before = query.cursor === undefined ? Infinity : (readCursor(query.cursor, 1)[0] ?? 0);
  const fits = (run: MemoryRun): boolean =>
    run.no < before &&
    (status === undefined || status.includes(run.status)) &&
    (graphId === undefined || run.admission.graphId === graphId) &&
    (parentRunId === undefined || run.admission.parent?.runId === parentRunId) &&
    (claimableAt === undefined || isClaimable(run, claimableAt, now));
  const found = [...runs].filter(fits).sort((a, b) => b.no - a.no);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    rows: page.map((run) => toRunRow(run, now)),
    ...(last !== undefined && found.length > limit ? { cursor: String(last.no) } : {}),
  };
}

const dueOf = ({ wait }: StoredWait): number => wait.dueAt ?? Number.MAX_SAFE_INTEGER;

export function listWaits(runs: Iterable<MemoryRun>, query: WaitQuery): Page<OpenWait> {
  const { kinds, dueBy, limit = pageSize } = query;
  const [due = -Infinity, order = -1] = query.cursor === undefined ? [] : readCursor(query.cursor, 2);
  const fits = (stored: StoredWait): boolean =>
    (kinds === undefined || kinds.includes(stored.wait.kind)) &&
    (dueBy === undefined || dueOf(stored) <= dueBy) &&
    (dueOf(stored) > due || (dueOf(stored) === due && stored.order > order));
  const found = [...runs]
    .flatMap((run) => [...run.waits.values()].filter(fits).map((stored) => ({ run, stored })))
    .sort((a, b) => dueOf(a.stored) - dueOf(b.stored) || a.stored.order - b.stored.order);
  const page = found.slice(0, limit);
  const last = page.at(-1)?.stored;
  return {
    rows: page.map(({ run, stored }) => ({
      tenant: run.admission.tenant,
      runId: run.admission.runId,
      graphId: run.admission.graphId,
      ...copyWait(stored.wait, handOut),
    })),
    ...(last !== undefined && found.length > limit ? { cursor: `${dueOf(last)}.${last.order}` } : {}),
  };
}
