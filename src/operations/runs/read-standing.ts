/** Reads where a run stands, in the same form as a resume returns it, without advancing it. */
import { runField } from '../contract/fields.ts';
import { standing } from '../contract/output-shapes.ts';
import type { Operation, RunStanding, WorkContext } from '../contract/operation.ts';
import type { InspectRunInput } from './inspect-run.ts';

export const readStanding: Operation<InspectRunInput, RunStanding, WorkContext> = {
  name: 'read_standing',
  summary: 'tell where a run stands, as a resume would',
  input: { run: runField('the run, by its whole id') },
  output: 'where the run stands',
  outputSchema: standing,
  isReadOnly: true,
  scope: 'read',
  run: ({ engine }, { run }) => engine.inspect(run),
};
