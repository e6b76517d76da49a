/** Fields that many operations have. */
import type { Field } from './operation.ts';

export const runField = (description = 'the run'): Field => ({
  type: 'run',
  description,
  isRequired: true,
  isPositional: true,
});

export const checkpointField = (
  description = 'the checkpoint: RUN for the newest, RUN@12, RUN@tag, RUN@head~2 or its id',
): Field => ({ type: 'checkpoint', description, isRequired: true, isPositional: true });

/** The graph of a module, which is of this machine. */
export const exportField: Field = {
  type: 'text',
  description: 'the name of the export, if the module has several graphs',
  isLocal: true,
};
