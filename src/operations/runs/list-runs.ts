/** The operation `ls`: lists the runs of a store, newest first. */
import {
  awaitedEffects,
  described,
  flag,
  labelValues,
  listOf,
  objectOf,
  position,
  text,
  texts,
  time,
  whole,
} from '../contract/output-shapes.ts';
import {
  listRuns as walkRuns,
  pageOfRuns,
  shownStatusOf,
  type ListQuery,
  type ListedRun as RecordedRun,
  type ShownStatus,
} from '../../history/read/list-runs.ts';
import { pageFields, openCursor, sealCursor } from '../contract/cursor.ts';
import { checkInput, maskedBySchema } from '../contract/perform.ts';
import type { HistoryContext, ReadContext, RoutedOperation } from '../contract/operation.ts';
import type { ErrorFilter, FailureGroup } from './failed-runs.ts';
import { readTime } from './read-time.ts';

/** A run in a list, with the status by which lists are filtered. */
export interface ListedRun extends Omit<RecordedRun, 'status'> {
  readonly status: ShownStatus;
}

const toListed = (run: RecordedRun): ListedRun => ({ ...run, status: shownStatusOf(run) });

/** Which runs are meant. */
export interface RunFilter {
  readonly status?: readonly string[];
  readonly graph?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly since?: string;
  readonly until?: string;
}

export interface ListRunsInput extends RunFilter, ErrorFilter {
  readonly group?: string;
  readonly limit?: number;
  readonly cursor?: string;
  readonly all?: boolean;
}

export interface ListRunsOutput {
  readonly runs: readonly ListedRun[];
  /** Whether there are more runs than were requested. */
  readonly hasMore: boolean;
  /** Pass it in the next query, with the same filter, to get the page after this one; absent on the last page. */
  readonly cursor?: string;
  /** With `group`: failed runs by what they failed by, most of them first; then `runs` is empty. */
  readonly groups?: readonly FailureGroup[];
  /** With `group: 'status'`: how many runs have each status, among the newest 10,000; then `runs` is empty. */
  readonly counts?: readonly StatusCount[];
}

interface StatusCount {
  readonly status: ShownStatus;
  readonly count: number;
}

const statuses: readonly ShownStatus[] = [
  'running',
  'queued',
  'stopped',
  'paused',
  'cancelling',
  'answered',
  'held',
  'damaged',
  'completed',
  'failed',
  'cancelled',
];
const defaultLimit = 20;
/** Rows that are read at most to count them. */
const countedMax = 10_000;

const runSchema = objectOf(
  {
    runId: text,
    graphId: text,
    status: text,
    head: whole,
    createdAt: time,
    updatedAt: time,
    isStopped: flag,
    isHeld: flag,
    hasMessages: flag,
  },
  {
    parent: position,
    claimedBy: text,
    deaths: whole,
    isQueued: flag,
    isDamaged: flag,
    labels: labelValues,
    title: text,
    waitsForCode: objectOf({ graphHash: text, since: time }, { version: text }),
    awaits: awaitedEffects,
  },
);

export const listRuns: RoutedOperation<ListRunsInput, ListRunsOutput> = {
  name: 'list_runs',
  command: 'ls',
  summary: 'list runs, newest first',
  details:
    'stopped: its process died, and a resume goes on with it. queued: nobody has taken it up yet. answered: a resume takes the answer in.',
  input: {
    status: { type: 'texts', description: 'only runs with this status', choices: statuses },
    graph: { type: 'text', description: 'only runs of this graph' },
    label: { type: 'answers', description: 'only runs with this label: user=ann' },
    since: {
      type: 'time',
      description: 'only runs started since: 2026-11-03, a time of day with it, or an age: 3h, 2d',
    },
    until: { type: 'time', description: 'only runs started before, in the same forms' },
    error: { type: 'text', description: 'only failed runs with this code, without a cursor: NODE_TIMED_OUT' },
    node: { type: 'text', description: 'only failed runs in which this node failed, without a cursor' },
    group: {
      type: 'text',
      description: 'failed runs by their codes and first lines, or how many runs have each status',
      choices: ['error', 'status'],
    },
    ...pageFields(defaultLimit),
    all: { type: 'flag', description: 'all of them', isLocal: true },
  },
  output: 'the runs',
  outputSchema: objectOf(
    {
      runs: listOf(runSchema),
      hasMore: flag,
    },
    {
      cursor: text,
      groups: described(
        listOf(
          objectOf({
            code: text,
            message: described(text, 'the first line'),
            count: described(whole, 'how many'),
            runs: described(texts, 'the newest of them'),
          }),
        ),
        'failed runs by what they failed by',
      ),
      counts: described(
        listOf(objectOf({ status: text, count: described(whole, 'how many') })),
        'how many runs have each status, among the newest 10,000',
      ),
    },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /runs',
  tool: {},
  async run(context, { limit = defaultLimit, cursor, all = false, error, node, group, ...filter }) {
    const query = queryOf(filter, context.now());
    const failure = { ...(error !== undefined && { error }), ...(node !== undefined && { node }) };
    const isByError = error !== undefined || node !== undefined;
    if (group === 'status' && !isByError) return countByStatus(context, query);
    if (group !== undefined || isByError)
      return listByError(context, query, { failure, group, limit: all ? Infinity : limit });
    const from = cursor === undefined ? {} : { cursor: openCursor(cursor, 'ls', filter) };
    if (all) {
      const runs: ListedRun[] = [];
      for await (const run of walkRuns(context, query, from)) runs.push(toListed(run));
      return { runs, hasMore: false };
    }
    const page = await pageOfRuns(context, query, { limit, ...from });
    return {
      runs: page.runs.map(toListed),
      hasMore: page.cursor !== undefined,
      ...(page.cursor !== undefined && { cursor: sealCursor(page.cursor, 'ls', filter) }),
    };
  },
};

/** What failed runs failed by is in their states, so these are read one by one. */
async function listByError(
  context: ReadContext,
  query: ListQuery,
  {
    failure,
    group,
    limit,
  }: { readonly failure: ErrorFilter; readonly group: string | undefined; readonly limit: number },
): Promise<ListRunsOutput> {
  const { groupFailed, listFailed } = await import('./failed-runs.ts');
  const place = context as HistoryContext;
  if (group === 'error') return { runs: [], hasMore: false, groups: await groupFailed(place, query, failure) };
  const runs: ListedRun[] = [];
  let count = 0;
  for await (const { run } of listFailed(place, query, failure)) {
    count += 1;
    if (group !== undefined) continue;
    if (count > limit) return { runs, hasMore: true };
    runs.push(toListed(run));
  }
  return { runs, hasMore: false, ...(group !== undefined && { counts: [{ status: 'failed' as const, count }] }) };
}

async function countByStatus(context: ReadContext, query: ListQuery): Promise<ListRunsOutput> {
  const counts = new Map<ShownStatus, number>();
  let read = 0;
  for await (const run of walkRuns(context, query)) {
    if (read >= countedMax) break;
    read += 1;
    const status = shownStatusOf(run);
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  const listed = statuses.flatMap((status) => {
    const count = counts.get(status);
    return count === undefined ? [] : [{ status, count }];
  });
  return { runs: [], hasMore: read >= countedMax, counts: listed };
}

/** @throws USAGE_INVALID a time cannot be read */
export function queryOf({ status, graph, label, since, until }: RunFilter, now: number): ListQuery {
  return {
    ...(status !== undefined && { status: status as readonly ShownStatus[] }),
    ...(graph !== undefined && { graphId: graph }),
    ...(label !== undefined && { labels: label }),
    ...(since !== undefined && { since: readTime('since', since, now) }),
    ...(until !== undefined && { until: readTime('until', until, now) }),
  };
}

/** All runs of a list, as they are read, masked for showing, and how many there are. @throws USAGE_INVALID */
export async function* listEachRun(
  context: ReadContext,
  input: ListRunsInput,
): AsyncGenerator<ListedRun, { readonly runs: number }> {
  checkInput(listRuns.input, input);
  const { limit: _limit, all: _all, error: _error, node: _node, group: _group, cursor, ...filter } = input;
  const from = cursor === undefined ? {} : { cursor: openCursor(cursor, 'ls', filter) };
  let runs = 0;
  for await (const run of walkRuns(context, queryOf(filter, context.now()), from)) {
    runs += 1;
    yield maskedBySchema(toListed(run), runSchema) as ListedRun;
  }
  return { runs };
}
