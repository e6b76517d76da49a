/** `ls`: the runs of a store, newest first. */
import { flag, listOf, objectOf, position, text, whole } from '../declare/output-shapes.ts';
import type { RunRow, StoredStatus } from '../../ports/store.ts';
import type { Operation, ReadContext } from '../declare/operation.ts';

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

/** What a run is shown as: more than its record says. */
export type ShownStatus = StoredStatus | 'stopped' | 'answered';

const statuses: readonly ShownStatus[] = [
  'running',
  'stopped',
  'paused',
  'answered',
  'completed',
  'failed',
  'cancelled',
];
/** What the record says of those that are shown as something else. */
const recorded: Partial<Readonly<Record<string, StoredStatus>>> = { stopped: 'running', answered: 'paused' };
const defaultLimit = 20;
const pageSize = 500;

/** Whether a run is running by its record while nobody works on it. */
export function isStopped({ status, claim }: RunRow, isWorkerDead: ReadContext['isWorkerDead']): boolean {
  return status === 'running' && (claim === undefined || isWorkerDead(claim.workerId) === true);
}

/** As people are told it: a run is `stopped` if its process has died, and `answered` if an answer waits to be taken. */
export function shownStatusOf({ status, isStopped, hasMessages }: ListedRun): ShownStatus {
  if (isStopped) return 'stopped';
  return status === 'paused' && hasMessages ? 'answered' : status;
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
          hasMessages: flag,
        },
        { parent: position, claimedBy: text },
      ),
    ),
    hasMore: flag,
  }),
  isReadOnly: true,
  async run({ store, tenant, isWorkerDead }, { status, graph, limit = defaultLimit, all = false }) {
    const wanted = all ? Number.POSITIVE_INFINITY : limit;
    const stored = status && [...new Set(status.map((name) => recorded[name] ?? (name as StoredStatus)))];
    const isWanted = (run: ListedRun): boolean =>
      status === undefined || status.includes(run.status) || status.includes(shownStatusOf(run));
    const runs: ListedRun[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.listRuns({
        tenant,
        limit: Math.min(pageSize, wanted - runs.length),
        ...(stored !== undefined && { status: stored }),
        ...(graph !== undefined && { graphId: graph }),
        ...(cursor !== undefined && { cursor }),
      });
      runs.push(...page.rows.map((row) => toListedRun(row, isWorkerDead)).filter(isWanted));
      cursor = page.cursor;
    } while (cursor !== undefined && runs.length < wanted);
    return { runs, hasMore: cursor !== undefined };
  },
};
