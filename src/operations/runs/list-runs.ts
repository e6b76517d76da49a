/** The operation `ls`: lists the runs of a store, newest first. */
import { flag, listOf, objectOf, position, text, time, whole } from '../contract/output-shapes.ts';
import {
  listRuns as walkRuns,
  pageOfRuns,
  shownStatusOf,
  type ListedRun as RecordedRun,
  type ShownStatus,
} from '../../history/read/list-runs.ts';
import { CairnError } from '../../errors.ts';
import { pageFields, openCursor, sealCursor } from '../contract/cursor.ts';
import type { RoutedOperation } from '../contract/operation.ts';

/** A run in a list, with the status by which lists are filtered. */
export interface ListedRun extends Omit<RecordedRun, 'status'> {
  readonly status: ShownStatus;
}

const toListed = (run: RecordedRun): ListedRun => ({ ...run, status: shownStatusOf(run) });

export interface ListRunsInput {
  readonly status?: readonly string[];
  readonly graph?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly since?: string;
  readonly until?: string;
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
const ages: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, min: 60_000, s: 1_000 };

/**
 * A point in time as people write it: an age before now (`3h`, `2d`, `15min`), a date or a date with a time (ISO 8601; without a zone it is
 * local time). @returns epoch ms. @throws USAGE_INVALID
 */
function readTime(option: string, written: string, now: number): number {
  const [, count, unit = ''] = /^(\d{1,9}) ?(d|h|m|min|s)$/.exec(written) ?? [];
  if (count !== undefined) return now - Number(count) * (ages[unit] ?? 0);
  const at = /^\d{4}-\d{2}-\d{2}$/.test(written)
    ? new Date(`${written}T00:00`).getTime()
    : /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}/.test(written)
      ? new Date(written.replace(' ', 'T')).getTime()
      : Number.NaN;
  if (Number.isNaN(at))
    throw new CairnError('USAGE_INVALID', {
      reason: `${option} is no time: ${JSON.stringify(written.slice(0, 60))}`,
      hint: 'Give a date (2026-11-03), a date with a time (2026-11-03T14:05), or an age (3h, 2d).',
    });
  return at;
}

const defaultLimit = 20;

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
    ...pageFields(defaultLimit),
    all: { type: 'flag', description: 'all of them', isLocal: true },
  },
  output: 'the runs',
  outputSchema: objectOf(
    {
      runs: listOf(
        objectOf(
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
            waitsForCode: objectOf({ graphHash: text, since: time }),
          },
        ),
      ),
      hasMore: flag,
    },
    { cursor: text },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /runs',
  tool: {},
  async run(context, { limit = defaultLimit, cursor, all = false, ...filter }) {
    const { status, graph, label, since, until } = filter;
    const query = {
      ...(status !== undefined && { status: status as readonly ShownStatus[] }),
      ...(graph !== undefined && { graphId: graph }),
      ...(label !== undefined && { labels: label }),
      ...(since !== undefined && { since: readTime('since', since, context.now()) }),
      ...(until !== undefined && { until: readTime('until', until, context.now()) }),
    };
    if (all) {
      const runs: ListedRun[] = [];
      for await (const run of walkRuns(context, query)) runs.push(toListed(run));
      return { runs, hasMore: false };
    }
    const page = await pageOfRuns(context, query, {
      limit,
      ...(cursor !== undefined && { cursor: openCursor(cursor, 'ls', filter) }),
    });
    return {
      runs: page.runs.map(toListed),
      hasMore: page.cursor !== undefined,
      ...(page.cursor !== undefined && { cursor: sealCursor(page.cursor, 'ls', filter) }),
    };
  },
};
