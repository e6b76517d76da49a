/** Lists the checkpoints of all runs, newest first. */
import { flag, listOf, objectOf, text, whole } from '../declare/output-shapes.ts';
import {
  type Position,
  listCheckpoints as walkCheckpoints,
  type ListedCheckpoint,
} from '../../history/read/list-checkpoints.ts';
import { CairnError } from '../../errors.ts';
import { takeSome } from '../../history/read/list-runs.ts';
import type { HistoryContext, Operation } from '../declare/operation.ts';

export type { ListedCheckpoint } from '../../history/read/list-checkpoints.ts';

export interface ListCheckpointsInput {
  readonly workflow?: string;
  /** Only checkpoints at which a run was paused. */
  readonly paused?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
}

export interface ListCheckpointsOutput {
  readonly checkpoints: readonly ListedCheckpoint[];
  /** Pass it in the next query to get the page after this one; absent on the last page. */
  readonly cursor?: string;
}

const defaultLimit = 50;

/** @throws USAGE_INVALID */
function readCursor(cursor: string | undefined): Position | undefined {
  if (cursor === undefined) return undefined;
  const [, at, seq, runId] = /^(\d{1,15}):(\d{1,15}):(.+)$/su.exec(cursor) ?? [];
  if (runId === undefined)
    throw new CairnError('USAGE_INVALID', {
      reason: `no cursor: ${JSON.stringify(cursor.slice(0, 60))}`,
      hint: 'Give the cursor of the page before.',
    });
  return { at: Number(at), seq: Number(seq), runId };
}

export const listCheckpoints: Operation<ListCheckpointsInput, ListCheckpointsOutput, HistoryContext> = {
  name: 'checkpoints',
  summary: 'list the checkpoints of all runs, newest first',
  input: {
    workflow: { type: 'text', description: 'only those of this workflow' },
    paused: { type: 'flag', description: 'only those at which a run was paused' },
    limit: { type: 'integer', description: `how many at most; default ${defaultLimit}` },
    cursor: { type: 'text', description: 'go on after this place: the cursor of the page before' },
  },
  output: 'the checkpoints, and where the next page begins',
  outputSchema: objectOf(
    {
      checkpoints: listOf(
        objectOf(
          {
            checkpointId: text,
            runId: text,
            seq: whole,
            graphId: text,
            createdAt: whole,
            isPaused: flag,
            isHead: flag,
          },
          { prompt: text },
        ),
      ),
    },
    { cursor: text },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /checkpoints',
  async run(context, { workflow, paused = false, limit = defaultLimit, cursor }) {
    const after = readCursor(cursor);
    const query = {
      isPaused: paused,
      ...(workflow !== undefined && { graphId: workflow }),
      ...(after !== undefined && { after }),
    };
    const { taken, hasMore } = await takeSome(walkCheckpoints(context, query), limit);
    const last = taken.at(-1);
    if (!hasMore || last === undefined) return { checkpoints: taken };
    return { checkpoints: taken, cursor: `${last.createdAt}:${last.seq}:${last.runId}` };
  },
};
