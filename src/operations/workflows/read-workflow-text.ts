/** The text of a known workflow as it was read, which is also what is recorded with a run that is started now. */
import { definition, objectOf } from '../declare/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import type { Operation, WorkContext } from '../declare/operation.ts';

export interface ReadWorkflowTextInput {
  readonly workflow: string;
}

export interface ReadWorkflowTextOutput {
  readonly text: string;
}

export const readWorkflowText: Operation<ReadWorkflowTextInput, ReadWorkflowTextOutput, WorkContext> = {
  name: 'text',
  summary: 'show the text of a workflow',
  input: { workflow: { type: 'text', description: 'its name', isRequired: true, isPositional: true } },
  output: 'the text',
  outputSchema: objectOf({ text: definition }),
  isReadOnly: true,
  scope: 'read',
  /** @throws WORKFLOW_NOT_FOUND, GRAPH_INVALID */
  async run(context, { workflow: name }) {
    const { graph } = (await context.openWorkflows()).get(name).workflow;
    const { workflows = {}, text: whole } = JSON.parse(graph.text ?? '{}') as {
      /** Only for pipelines. */
      readonly text?: string;
      readonly workflows?: Readonly<Record<string, { readonly text: string }>>;
    };
    const text = whole ?? workflows[name]?.text;
    if (text === undefined) throw new CairnError('WORKFLOW_NOT_FOUND', { name });
    return { text };
  },
};
