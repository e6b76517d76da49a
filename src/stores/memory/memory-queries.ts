/** Listings of the memory store: they filter, sort, and cut out a page. */

import { CairnError } from '../../errors.ts';
import type { NextRequest, OpenWait, Page, RunQuery, RunRow, WaitQuery } from '../../ports/store.ts';
import { copyWait, handOut, isClaimed, toRunRow, type MemoryRun, type StoredWait } from './memory-run.ts';

const pageSize = 100;

function readCursor(cursor: string, parts: number): readonly number[] {
  const numbers = cursor.split('.').map(Number);
  if (numbers.length !== parts || numbers.some(Number.isNaN)) {
    throw new CairnError('USAGE_INVALID', { reason: `${cursor} is not a cursor of this store` });
  }
  return numbers;
}

/** Sorts texts by code point, like a database that stores UTF-8. */
export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Since when a run has had something to do, in epoch ms; undefined if it has nothing to do or is not due. */
function dueSince(run: MemoryRun, at: number): number | undefined {
  const { dueAt } = run.schedule;
  if ((run.status !== 'running' && run.status !== 'paused') || dueAt > at) return undefined;
  const times = [
    ...(run.status === 'running' ? [dueAt] : []),
    ...run.messages.filter(({ isTaken }) => !isTaken).map((message) => message.at),
    ...[...run.waits.values()].map(({ wait }) => wait.dueAt ?? Infinity).filter((due) => due <= at),
  ];
  return times.length === 0 ? undefined : Math.min(...times);
}

/** The runs that `claimNext` claims, in order. */
export function findNext(
  runs: Iterable<MemoryRun>,
  { at: requestedAt, graphs, queues, except, limit }: NextRequest,
  now: number,
): readonly MemoryRun[] {
  const at = requestedAt ?? now;
  const passed = new Set(except);
  const found: { readonly run: MemoryRun; readonly due: number }[] = [];
  for (const run of runs) {
    const { runId, graphId } = run.admission;
    if (isClaimed(run, now) || passed.has(runId)) continue;
    if (graphs?.includes(graphId) === false || queues?.includes(run.schedule.queue) === false) continue;
    const due = dueSince(run, at);
    if (due !== undefined) found.push({ run, due });
  }
  const byUrgency = found.sort(
    (a, b) => b.run.schedule.priority - a.run.schedule.priority || a.due - b.due || a.run.no - b.run.no,
  );
  return byUrgency.slice(0, limit).map(({ run }) => run);
}

export function listRuns(runs: Iterable<MemoryRun>, query: RunQuery, now: number): Page<RunRow> {
  const { status, graphId, parentRunId, labels = {}, since = -Infinity, until = Infinity, limit = pageSize } = query;
  const before = query.cursor === undefined ? Infinity : (readCursor(query.cursor, 1)[0] ?? 0);
  const fits = (run: MemoryRun): boolean =>
    run.no < before &&
    (status === undefined || status.includes(run.status)) &&
    (graphId === undefined || run.admission.graphId === graphId) &&
    (parentRunId === undefined || run.admission.parent?.runId === parentRunId) &&
    run.createdAt >= since &&
    run.createdAt < until &&
    Object.entries(labels).every(([name, value]) => Object.hasOwn(run.labels, name) && run.labels[name] === value);
  const found = [...runs].filter(fits).sort((a, b) => b.no - a.no);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    rows: page.map((run) => toRunRow(run, now)),
    ...(last !== undefined && found.length > limit ? { cursor: String(last.no) } : {}),
  };
}

/** Whether an answer to a wait is posted that no commit has taken. */
function hasAnswer(run: MemoryRun, waitId: string): boolean {
  return run.messages.some(({ kind, name, isTaken }) => !isTaken && kind === 'answer' && name === waitId);
}

const dueOf = ({ wait }: StoredWait): number => wait.dueAt ?? Number.MAX_SAFE_INTEGER;

export function listWaits(runs: Iterable<MemoryRun>, query: WaitQuery): Page<OpenWait> {
  const { kinds, dueBy, isAnswered, limit = pageSize } = query;
  const [due = -Infinity, order = -1] = query.cursor === undefined ? [] : readCursor(query.cursor, 2);
  const fits = (run: MemoryRun, stored: StoredWait): boolean =>
    (isAnswered === undefined || isAnswered === hasAnswer(run, stored.wait.waitId)) &&
    (kinds === undefined || kinds.includes(stored.wait.kind)) &&
    (dueBy === undefined || dueOf(stored) <= dueBy) &&
    (dueOf(stored) > due || (dueOf(stored) === due && stored.order > order));
  const found = [...runs]
    .flatMap((run) => [...run.waits.values()].filter((stored) => fits(run, stored)).map((stored) => ({ run, stored })))
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
