/** The operation `ls`: lists the runs of a store, newest first. */
import { flag, listOf, objectOf, position, text, whole } from '../declare/output-shapes.ts';
import { listRuns as walkRuns, type ListedRun, type ShownStatus } from '../../history/read/list-runs.ts';
import { takeSome } from '../../history/read/take.ts';
import type { Operation } from '../declare/operation.ts';

export { isStopped, shownStatusOf, type ListedRun } from '../../history/read/list-runs.ts';

export interface ListRunsInput {
  readonly status?: readonly string[];
  readonly graph?: string;
  readonly limit?: number;
  readonly all?: boolean;
}

export interface ListRunsOutput {
  readonly runs: readonly ListedRun[];
  /** Whether there are more runs than were requested. */
  readonly hasMore: boolean;
}

const statuses: readonly ShownStatus[] = [
  'running',
  'stopped',
  'paused',
  'answered',
  'held',
  'damaged',
  'completed',
  'failed',
  'cancelled',
];
const defaultLimit = 20;
const largestPage = 500;

export const listRuns: Operation<ListRunsInput, ListRunsOutput> = {
  name: 'ls',
  summary: 'list runs, newest first',
  input: {
    status: { type: 'texts', description: 'only runs with this status', choices: statuses },
    graph: { type: 'text', description: 'only runs of this graph' },
    limit: { type: 'integer', description: `how many at most; default ${defaultLimit}` },
    all: { type: 'flag', description: 'all of them' },
  },
  output: 'the runs',
  outputSchema: objectOf({
    runs: listOf(
      objectOf(
        {
          runId: text,
          graphId: text,
          status: text,
          head: whole,
          createdAt: whole,
          updatedAt: whole,
          isStopped: flag,
          isHeld: flag,
          hasMessages: flag,
        },
        { parent: position, claimedBy: text, isDamaged: flag },
      ),
    ),
    hasMore: flag,
  }),
  isReadOnly: true,
  async run(context, { status, graph, limit = defaultLimit, all = false }) {
    const wanted = all ? Number.POSITIVE_INFINITY : limit;
    const query = {
      ...(status !== undefined && { status: status as readonly ShownStatus[] }),
      ...(graph !== undefined && { graphId: graph }),
    };
    const { taken, hasMore } = await takeSome(walkRuns(context, query, Math.min(largestPage, wanted + 1)), wanted);
    return { runs: taken, hasMore };
  },
};
