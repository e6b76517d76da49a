/** `ls`: the runs of a store, newest first. */
import type { RunRow, StoredStatus } from '../ports/store.ts';
import type { Operation, ReadContext } from './operation.ts';

export interface ListRunsInput {
  readonly status?: readonly string[];
  readonly graph?: string;
  readonly limit?: number;
  readonly all?: boolean;
}

export interface ListedRun {
  readonly runId: string;
  readonly graphId: string;
  readonly status: StoredStatus;
  readonly head: number;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Epoch ms. */
  readonly updatedAt: number;
  readonly parent?: { readonly runId: string; readonly seq: number };
  /** Who works on it now. */
  readonly claimedBy?: string;
  /** It is running by its record, but nobody works on it: its process has died. */
  readonly isStopped: boolean;
  /** Whether an answer, a signal or a request to cancel is waiting to be taken. */
  readonly hasMessages: boolean;
}

export interface ListRunsOutput {
  readonly runs: readonly ListedRun[];
  /** Whether there are more than were asked for. */
  readonly hasMore: boolean;
}

const statuses: readonly StoredStatus[] = ['running', 'paused', 'completed', 'failed', 'cancelled'];
const defaultLimit = 20;
const pageSize = 500;

/** Whether a run is running by its record while nobody works on it. */
export function isStopped({ status, claim }: RunRow, isWorkerDead: ReadContext['isWorkerDead']): boolean {
  return status === 'running' && (claim === undefined || isWorkerDead(claim.workerId) === true);
}

function toListedRun(run: RunRow, isWorkerDead: ReadContext['isWorkerDead']): ListedRun {
  const { runId, graphId, status, head, createdAt, updatedAt, parent, claim, hasMessages } = run;
  return {
    runId,
    graphId,
    status,
    head,
    createdAt,
    updatedAt,
    ...(parent !== undefined && { parent }),
    ...(claim !== undefined && { claimedBy: claim.workerId }),
    isStopped: isStopped(run, isWorkerDead),
    hasMessages,
  };
}

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
  isReadOnly: true,
  async run({ store, tenant, isWorkerDead }, { status, graph, limit = defaultLimit, all = false }) {
    const wanted = all ? Number.POSITIVE_INFINITY : limit;
    const runs: ListedRun[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.listRuns({
        tenant,
        limit: Math.min(pageSize, wanted - runs.length),
        ...(status !== undefined && { status: status as readonly StoredStatus[] }),
        ...(graph !== undefined && { graphId: graph }),
        ...(cursor !== undefined && { cursor }),
      });
      runs.push(...page.rows.map((row) => toListedRun(row, isWorkerDead)));
      cursor = page.cursor;
    } while (cursor !== undefined && runs.length < wanted);
    return { runs, hasMore: cursor !== undefined };
  },
};
