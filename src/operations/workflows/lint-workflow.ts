/** The operations `lint` and `fmt`: report everything about a workflow's text, and print a pipeline in canonical format. Nothing is run. */
import type { Violation } from '../../graph/graph.ts';
import type { FieldsOf, Operation, WorkContext } from '../declare/operation.ts';
import { definition, flag, listOf, objectOf, violation } from '../declare/output-shapes.ts';

export interface LintWorkflowInput {
  readonly text: string;
  /** Name of the text in places of faults. */
  readonly source: string;
}

export interface LintWorkflowOutput {
  /** Whether there are no errors; there may be warnings. */
  readonly isValid: boolean;
  readonly violations: readonly Violation[];
}

const fields: FieldsOf<LintWorkflowInput> = {
  text: { type: 'text', description: 'the workflow', isRequired: true },
  source: { type: 'text', description: 'its name in messages', isRequired: true },
};

export const lintWorkflow: Operation<LintWorkflowInput, LintWorkflowOutput, WorkContext> = {
  name: 'lint',
  summary: 'say all that is wrong with a workflow, or odd about it',
  input: fields,
  output: 'its faults, each with severity, place and fix',
  outputSchema: objectOf({ isValid: flag, violations: listOf(violation) }),
  isReadOnly: true,
  async run(context, { text, source }) {
    const { violations } = (await context.openWorkflows()).check(text, source);
    return { isValid: violations.every(({ severity }) => severity !== 'error'), violations };
  },
};

export const formatWorkflow: Operation<LintWorkflowInput, { readonly text: string }, WorkContext> = {
  name: 'fmt',
  summary: 'write a pipeline in its canonical form',
  input: fields,
  output: 'the text',
  outputSchema: objectOf({ text: definition }),
  isReadOnly: true,
  /** @throws GRAPH_PARSE, USAGE_INVALID */
  async run(context, { text, source }) {
    return { text: (await context.openWorkflows()).format(text, source) };
  },
};
