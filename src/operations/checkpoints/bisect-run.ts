/** The operation `bisect`: finds the first checkpoint at which a condition holds. */
import { shown } from '../../state/secrecy/shown-text.ts';
import { checkpointField } from '../contract/fields.ts';
import { changePart, listOf, objectOf, text, time, described, whole } from '../contract/output-shapes.ts';
import { resolveReference } from '../../history/read/references.ts';
import { type Bisection, bisect } from '../../history/explain/bisect.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';

export interface BisectRunInput {
  readonly checkpoint: string;
  readonly when: string;
}

export type BisectRunOutput = Bisection;

export const bisectRun: RoutedOperation<BisectRunInput, BisectRunOutput, HistoryContext> = {
  name: 'bisect_run',
  command: 'bisect',
  summary: 'find the first checkpoint at which a condition holds',
  details:
    'A condition reads status, input, scratch, artifacts, diagnostics, outputs and failures: has(failures.pay), size(outputs.list) > 3.',
  input: {
    checkpoint: checkpointField('the run, or the checkpoint up to which is looked: RUN, RUN@12, RUN@tag'),
    when: {
      type: 'text',
      description: 'the condition: scratch.total > 100, failures.size() > 0, status == "failed"',
      isRequired: true,
    },
  },
  output: 'the checkpoint, if there is one',
  outputSchema: objectOf(
    { runId: text, seq: whole, when: text, read: whole, evaluated: whole },
    {
      found: objectOf(
        { runId: text, seq: whole, checkpointId: text, at: time, change: listOf(changePart) },
        { within: objectOf({ upTo: whole }, { after: described(whole, 'the last one before them') }) },
      ),
      unanswered: objectOf({ seq: described(whole, 'the first of them'), reason: text, count: whole }),
    },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /checkpoints/{checkpoint}/bisect',
  tool: {},
  async run({ store, blobs, tenant }, { checkpoint, when }) {
    const place = await resolveReference(store, tenant, checkpoint);
    // A condition sees what this door shows: otherwise its answers would tell what is masked, piece by piece.
    return bisect({ store, blobs }, place, when, (values) => shown(values) as typeof values);
  },
};
