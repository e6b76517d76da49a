/** `cairn plan` */
import { perform } from '../../operations/contract/perform.ts';
import { planWorkflow, type PlanWorkflowInput } from '../../operations/workflows/check-workflow.ts';
import type { WorkflowDescription } from '../../operations/contract/workflows.ts';
import { withoutStore, type Session } from '../session.ts';
import { workflowsField, type Command, ofOperation } from '../command.ts';
import { withApp } from '../live/follow.ts';
import { isModule } from '../files.ts';
import { formatPlan } from '../text/plan-text.ts';

interface PlanArguments extends PlanWorkflowInput {
  readonly workflows?: readonly string[];
}

function printPlan(session: Session, workflow: WorkflowDescription): void {
  if (session.isJson) session.printJson(workflow);
  else session.screen.print(formatPlan(workflow, session.screen));
}

export const planCommand: Command<PlanArguments> = {
  ...ofOperation(planWorkflow, { workflows: workflowsField }),
  details:
    'Blocks of a wave could start together; a block starts as soon as what it depends on is done. All faults of a file are told at once, with their places.',
  examples: [
    { line: 'cairn plan deploy.yaml', does: 'before it is run for the first time' },
    { line: 'cairn plan release.ts', does: 'the graph that a module exports' },
    { line: 'cairn plan deploy --workflows ops --json', does: 'one of a folder, for a program' },
  ],
  execute(session, { workflows, ...input }) {
    // No store is opened, so none is made.
    return withApp(
      withoutStore(session),
      async (app) => {
        printPlan(session, await perform(planWorkflow, app, input));
        return 0;
      },
      { workflows, readsConfig: !isModule(input.file) },
    );
  },
};
