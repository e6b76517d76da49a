/** Lists the checkpoints of all runs, page by page. */
import { CairnError } from '../../errors.ts';
import { described, flag, listOf, objectOf, promptText, text, time, whole } from '../contract/output-shapes.ts';
import { type ListedCheckpoint, type ListMark, pageOfCheckpoints } from '../../history/read/list-checkpoints.ts';
import { pageFields, openCursor, sealCursor } from '../contract/cursor.ts';
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

/** A mark as it stands in a cursor: letters that no shell and no address changes. */
const formatMark = (mark: ListMark): string => Buffer.from(JSON.stringify(marked(mark))).toString('base64url');

function marked(mark: ListMark): readonly unknown[] {
  if (!('group' in mark)) return [mark.from];
  const { group, after } = mark;
  const place = after === undefined ? [] : [after.at, after.runId, after.seq];
  return [group.first, group.from ?? null, group.to ?? null, ...place];
}

/** @throws USAGE_INVALID it is a cursor of another version */
function readMark(text: string): ListMark {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    parts = undefined;
  }
  if (!Array.isArray(parts))
    throw new CairnError('USAGE_INVALID', {
      reason: 'the cursor is of another version of Cairn',
      hint: 'List from the beginning, without a cursor.',
    });
  const [first, from, to, at, runId, seq] = parts as [string, string | null, string | null, number?, string?, number?];
  if (parts.length === 1) return { from: first };
  const group = { first, ...(from !== null && { from }), ...(to !== null && { to }) };
  const isPlace = at !== undefined && runId !== undefined && seq !== undefined;
  return { group, ...(isPlace && { after: { at, runId, seq } }) };
}

export const listCheckpoints: RoutedOperation<ListCheckpointsInput, ListCheckpointsOutput, HistoryContext> = {
  name: 'list_checkpoints',
  command: 'checkpoints',
  summary: 'list the checkpoints of all runs, newest first',
  details:
    'In groups of 100 runs, those that were started last first: newest first is said of the checkpoints of a group. A page of --paused may have fewer than asked for where others follow.',
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
          { prompt: promptText, readsMemory: described(flag, 'set if a node read its memory here') },
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
    const query = { isPaused: paused, ...(workflow !== undefined && { graphId: workflow }) };
    const { checkpoints, next } = await pageOfCheckpoints(context, query, {
      limit,
      ...(cursor !== undefined && { start: readMark(openCursor(cursor, 'checkpoints', filter)) }),
    });
    return { checkpoints, ...(next !== undefined && { cursor: sealCursor(formatMark(next), 'checkpoints', filter) }) };
  },
};
