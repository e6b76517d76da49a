/** The operation `convert`: converts a workflow file of another format. */
import { definition, objectOf, whole } from '../declare/output-shapes.ts';
import type { ConvertedWorkflow } from '../../dialects/yaml/convert-workflow.ts';
import type { Operation, WorkContext } from '../declare/operation.ts';

export interface ConvertWorkflowInput {
  readonly text: string;
  /** Name of the text in places of faults. */
  readonly source: string;
  /** The format to convert to. */
  readonly to: 'cairn';
}

export const convertWorkflow: Operation<ConvertWorkflowInput, ConvertedWorkflow, WorkContext> = {
  name: 'convert',
  summary: 'write a workflow of the {{ }} form as one of this form',
  input: {
    text: { type: 'text', description: 'the workflow in YAML', isRequired: true },
    source: { type: 'text', description: 'its name in messages', isRequired: true },
    to: { type: 'text', description: 'the form that is written', isRequired: true, choices: ['cairn'] },
  },
  output: 'the text, and how many of its values are written otherwise',
  outputSchema: objectOf({ text: definition, changedCount: whole }),
  isReadOnly: true,
  /** @throws GRAPH_PARSE, GRAPH_INVALID */
  async run(context, { text, source }) {
    return (await context.openWorkflows()).convert(text, source);
  },
};
