/** Why runs failed, each in a line: what `ls --error` looks for, and `ls --group error` puts together. */
import { loadState } from '../../history/load/load.ts';
import { listRuns, type ListQuery, type ListedRun } from '../../history/read/list-runs.ts';
import { reasonOf } from '../../errors.ts';
import type { RunTree } from '../../state/tree.ts';
import type { HistoryContext } from '../contract/operation.ts';

/** Failed runs with one code and one first line. */
export interface FailureGroup {
  readonly code: string;
  /** The first line of the message of what failed first. */
  readonly message: string;
  readonly count: number;
  /** Ids of the newest of them, at most three. */
  readonly runs: readonly string[];
}

/** Why a run failed. */
export interface RunError {
  readonly code: string;
  /** The first line. */
  readonly message: string;
  /** The node of the run's own graph that failed. */
  readonly node: string;
}

interface FailureRecord {
  readonly code?: unknown;
  readonly cause?: unknown;
}

/** Which failed runs are meant: all that is given must hold. */
export interface ErrorFilter {
  /** The code by which they failed. */
  readonly error?: string;
  /** The node that failed. */
  readonly node?: string;
}

const lineMax = 200;

/** What a state says that its run failed by first. Of a child run that failed, its own reason. */
export function errorIn({ failures = {} }: Pick<RunTree, 'failures'>): RunError {
  const [node = '', first] = Object.entries(failures)[0] ?? [];
  let failure: unknown = first;
  let { code, cause } = (first ?? {}) as FailureRecord;
  while (code === 'CHILD_FAILED' && typeof cause === 'object' && cause !== null) {
    failure = cause;
    ({ code, cause } = cause as FailureRecord);
  }
  const [line = ''] = reasonOf(failure).split('\n');
  return { code: typeof code === 'string' ? code : 'NODE_FAILED', message: line.slice(0, lineMax), node };
}

/** What a failed run failed by first; undefined if it has not failed, or its state cannot be read. */
async function errorOf({ store, blobs, tenant }: HistoryContext, runId: string): Promise<RunError | undefined> {
  const run = await store.readRun({ tenant, runId });
  if (run?.status !== 'failed') return undefined;
  try {
    return errorIn((await loadState(store, blobs, run)).root);
  } catch {
    return undefined;
  }
}

/** The failed runs of a query that fit, newest first, each with its error. */
export async function* listFailed(
  context: HistoryContext,
  query: ListQuery,
  filter: ErrorFilter = {},
): AsyncGenerator<{ readonly run: ListedRun; readonly error: RunError }> {
  const { status } = query;
  if (status?.includes('failed') === false) return;
  for await (const run of listRuns(context, { ...query, status: ['failed'] })) {
    const error = await errorOf(context, run.runId);
    if (error !== undefined && fits(filter, error)) yield { run, error };
  }
}

/** Whether a run failed in this way; one that need not have failed fits. */
export async function hasFailedBy(context: HistoryContext, runId: string, filter: ErrorFilter): Promise<boolean> {
  if (Object.keys(filter).length === 0) return true;
  const found = await errorOf(context, runId);
  return found !== undefined && fits(filter, found);
}

const fits = ({ error, node }: ErrorFilter, found: RunError): boolean =>
  (error === undefined || found.code === error) && (node === undefined || found.node === node);

/** Failed runs by code and first line, most of them first. */
export async function groupFailed(
  context: HistoryContext,
  query: ListQuery,
  filter: ErrorFilter = {},
): Promise<readonly FailureGroup[]> {
  const groups = new Map<string, { code: string; message: string; count: number; runs: string[] }>();
  for await (const { run, error } of listFailed(context, query, filter)) {
    const { code, message } = error;
    const key = JSON.stringify([code, message]);
    const group = groups.get(key) ?? { code, message, count: 0, runs: [] };
    groups.set(key, group);
    group.count += 1;
    if (group.runs.length < 3) group.runs.push(run.runId);
  }
  return [...groups.values()].toSorted((a, b) => b.count - a.count);
}
