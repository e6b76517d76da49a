/** Lists the checkpoints of all runs, newest first. */
import { described, flag, listOf, objectOf, text, time, whole } from '../contract/output-shapes.ts';
import {
  type Position,
  listCheckpoints as walkCheckpoints,
  type ListedCheckpoint,
} from '../../history/read/list-checkpoints.ts';
import { pageFields, openCursor, sealCursor } from '../contract/cursor.ts';
import { takeSome } from '../../history/read/take-some.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';

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

/** Where a page ends, as it stands in a cursor. */
const formatPlace = ({ createdAt, seq, runId }: ListedCheckpoint): string => `${createdAt}:${seq}:${runId}`;

function readPlace(place: string): Position {
  const [at, seq, ...runId] = place.split(':');
  return { at: Number(at), seq: Number(seq), runId: runId.join(':') };
}

export const listCheckpoints: RoutedOperation<ListCheckpointsInput, ListCheckpointsOutput, HistoryContext> = {
  name: 'list_checkpoints',
  command: 'checkpoints',
  summary: 'list the checkpoints of all runs, newest first',
  input: {
    workflow: { type: 'text', description: 'only those of this workflow' },
    paused: { type: 'flag', description: 'only those at which a run was paused' },
    ...pageFields(defaultLimit),
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
            createdAt: time,
            isPaused: flag,
            isHead: flag,
          },
          { prompt: text, readsMemory: described(flag, 'set if a node read its memory here') },
        ),
      ),
    },
    { cursor: text },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /checkpoints',
  async run(context, { workflow, paused = false, limit = defaultLimit, cursor }) {
    const filter = { workflow, paused };
    const query = {
      isPaused: paused,
      ...(workflow !== undefined && { graphId: workflow }),
      ...(cursor !== undefined && { after: readPlace(openCursor(cursor, 'checkpoints', filter)) }),
    };
    const { taken, hasMore } = await takeSome(walkCheckpoints(context, query), limit);
    const last = taken.at(-1);
    if (!hasMore || last === undefined) return { checkpoints: taken };
    return { checkpoints: taken, cursor: sealCursor(formatPlace(last), 'checkpoints', filter) };
  },
};
