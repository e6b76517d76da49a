/** The operation `blame`: finds who last wrote each part of a value. */
import { checkpointField } from '../contract/fields.ts';
import {
  anything,
  listOf,
  objectOf,
  position,
  text,
  texts,
  time,
  described,
  whole,
} from '../contract/output-shapes.ts';
import { resolveReference } from '../../history/read/references.ts';
import { parsePath } from '../../history/read/state-path.ts';
import { type Blame, blameValue as blame } from '../../history/explain/blame.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';

export interface BlameValueInput {
  readonly checkpoint: string;
  readonly path: string;
  /** A child run: node ids and names of child runs in turn, separated by `/`. */
  readonly in?: string;
}

export type BlameValueOutput = Blame;

export const blameValue: RoutedOperation<BlameValueInput, BlameValueOutput, HistoryContext> = {
  name: 'blame_value',
  command: 'blame',
  summary: 'show which checkpoint, node and attempt last wrote each part of a value',
  details: 'A part is a key, an appended item, or a piece of a text.',
  input: {
    checkpoint: checkpointField(),
    path: { type: 'text', description: 'the value: scratch.plan', isRequired: true, isPositional: true },
    in: { type: 'text', description: 'of this child run: NODE/NAME, as show tells it' },
  },
  output: 'the parts of the value, and who wrote them',
  outputSchema: objectOf({
    runId: text,
    seq: whole,
    parts: listOf(
      objectOf(
        { path: texts, runId: text, seq: whole, checkpointId: text, at: time, kind: described(text, 'what wrote it') },
        {
          value: anything,
          range: objectOf({ from: whole, to: described(whole, 'where it ends') }),
          node: texts,
          visit: whole,
          attempt: whole,
          step: text,
          by: text,
          takenFrom: position,
          within: objectOf({ upTo: whole }, { after: described(whole, 'the last one before them') }),
        },
      ),
    ),
  }),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /checkpoints/{checkpoint}/blame',
  tool: {},
  async run({ store, blobs, tenant }, { checkpoint, path, in: inside }) {
    const found = await resolveReference(store, tenant, checkpoint);
    return blame({ store, blobs }, found, parsePath(path), inside?.split('/') ?? []);
  },
};
