/** The operation `show`: shows everything about one checkpoint. */
import { wholeChanges } from '../../history/read/failures.ts';
import { type ListedRun, namesOf } from '../../history/read/list-runs.ts';
import { type CheckpointDetails, showCheckpoint as readDetails } from '../../history/read/log.ts';
import { resolveReference } from '../../history/read/references.ts';
import { checkpointField } from '../contract/fields.ts';
import type { HistoryContext, RoutedOperation } from '../contract/operation.ts';
import {
  amounts,
  anything,
  awaitedEffects,
  checkpointView,
  flag,
  labelValues,
  listOf,
  logEntryParts,
  objectOf,
  oneOf,
  text,
  texts,
  described,
  valueDifference,
  whole,
} from '../contract/output-shapes.ts';

export interface ShowCheckpointInput {
  readonly checkpoint: string;
}

/** A checkpoint, with the labels and the title of its run. */
export type ShowCheckpointOutput = CheckpointDetails & Pick<ListedRun, 'labels' | 'title'>;

export const showCheckpoint: RoutedOperation<ShowCheckpointInput, ShowCheckpointOutput, HistoryContext> = {
  name: 'show_checkpoint',
  command: 'show',
  summary: 'show one checkpoint: why it is there, what it recorded and where the run stood',
  input: {
    checkpoint: checkpointField(),
  },
  output: 'the checkpoint',
  outputSchema: objectOf(
    {
      ...logEntryParts,
      graphHash: text,
      schemaVersion: whole,
      encoding: oneOf('delta', 'delta and snapshot'),
      checksum: text,
      recorded: objectOf({
        values: described(listOf(valueDifference), 'values that were added, removed or changed'),
        steps: listOf(
          objectOf({ path: texts, kind: text, status: text }, { value: anything, error: anything, spent: amounts }),
        ),
      }),
      isInDoubt: flag,
      answered: described(texts, 'ids of questions whose answer waits to be taken by a resume'),
      view: checkpointView,
    },
    {
      parent: described(text, 'id of the checkpoint before it'),
      deaths: whole,
      awaits: awaitedEffects,
      labels: labelValues,
      title: text,
    },
  ),
  isReadOnly: true,
  scope: 'read',
  route: 'GET /checkpoints/{checkpoint}',
  async run(context, { checkpoint }) {
    const { run, seq } = await resolveReference(context.store, context.tenant, checkpoint);
    const details = await readDetails(context, run, seq);
    const [change = details.change] = await wholeChanges(context.store, run, [details.change]);
    return { ...details, change, ...namesOf(run) };
  },
};
