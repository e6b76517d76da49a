/** The operations `check` and `plan`: report what a workflow text would do, and everything wrong with it. Nothing is run. */
import { exportField } from '../contract/fields.ts';
import { flag, listOf, objectOf, violation, workflow } from '../contract/output-shapes.ts';
import type { Violation } from '../../graph/graph.ts';
import { describeGraph } from './describe-graph.ts';
import type { WorkflowDescription } from '../contract/workflows.ts';
import { describe } from './describe-workflow.ts';
import type { Operation, RoutedOperation, WorkContext } from '../contract/operation.ts';

export interface CheckWorkflowInput {
  readonly text: string;
}

export interface CheckWorkflowOutput {
  /** Whether there are no errors; there may be warnings. */
  readonly isValid: boolean;
  readonly workflow: WorkflowDescription | undefined;
  readonly violations: readonly Violation[];
}

export interface PlanWorkflowInput {
  readonly file: string;
  readonly export?: string;
}

/** All that is wrong with a text as a workflow, and what it would be. */
export const checkWorkflow: RoutedOperation<CheckWorkflowInput, CheckWorkflowOutput, WorkContext> = {
  name: 'check_workflow',
  summary: 'say all that is wrong with a workflow',
  input: { text: { type: 'text', description: 'the workflow in YAML', isRequired: true, isPositional: true } },
  output: 'its faults, and what it would be',
  outputSchema: objectOf({ isValid: flag, violations: listOf(violation) }, { workflow }),
  isReadOnly: true,
  scope: 'read',
  route: 'POST /workflows/check',
  /** @throws TEXT_TOO_COSTLY, READER_BUSY */
  async run(context, { text }) {
    const { workflow, violations } = await (await context.openWorkflows()).describeText(text);
    const isValid = workflow !== undefined && violations.every(({ severity }) => severity !== 'error');
    return { isValid, workflow, violations };
  },
};

export const planWorkflow: Operation<PlanWorkflowInput, WorkflowDescription, WorkContext> = {
  name: 'plan_workflow',
  command: 'plan',
  summary: 'show what a workflow would do: waves, conditions, questions; nothing is run',
  input: {
    file: {
      type: 'text',
      description: 'a workflow in YAML or DOT, the name of a known one, or a module that exports a graph',
      isRequired: true,
      isPositional: true,
    },
    export: exportField,
  },
  output: 'the workflow',
  outputSchema: workflow,
  isReadOnly: true,
  scope: 'read',
  async run(context, { file, export: exportName }) {
    const { graph, workflow } = await context.loadGraph(file, exportName);
    if (workflow === undefined) return describeGraph(graph, file);
    // A file has the name under which its faults are listed.
    const known = await context.loadWorkflow(file);
    return describe(known.workflow, known.source);
  },
};
