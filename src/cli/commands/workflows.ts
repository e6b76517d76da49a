/** `cairn workflows` */
import { perform } from '../../operations/contract/perform.ts';
import {
  listWorkflows,
  type ListWorkflowsInput,
  type ListWorkflowsOutput,
} from '../../operations/workflows/describe-workflow.ts';
import { withoutStore, type Session } from '../session.ts';
import { workflowsField, type Command, ofOperation } from '../command.ts';
import { formatViolation } from '../report-failure.ts';
import { withApp } from '../live/follow.ts';
import { printable } from '../../operations/format/terminal.ts';
import { formatTable } from '../text/text-table.ts';

interface WorkflowsArguments extends ListWorkflowsInput {
  readonly workflows?: readonly string[];
}

const columns = [
  { title: 'WORKFLOW', canShrink: true },
  { title: 'BLOCKS', isRight: true },
  { title: 'ASKS' },
  { title: 'FILE', canShrink: true },
  { title: 'DESCRIPTION', canShrink: true },
] as const;

function printWorkflows({ screen }: Session, { workflows, broken }: ListWorkflowsOutput): void {
  const rows = workflows.map(({ name, blockCount, asks, source, description }) => [
    printable(name),
    String(blockCount),
    asks ? 'yes' : 'no',
    printable(source),
    printable(description ?? ''),
  ]);
  if (rows.length > 0) screen.print(formatTable(columns, rows, screen));
  else if (broken.length === 0) screen.note('No workflows here. Give their folder with --workflows.');
  for (const { source, violations } of broken) {
    screen.note('', `${screen.paint('bad', printable(source))} is no workflow:`);
    for (const violation of violations) screen.note(...formatViolation(violation, screen));
  }
}

export const workflowsCommand: Command<WorkflowsArguments> = {
  ...ofOperation(listWorkflows, { workflows: workflowsField }),
  details: 'Files that are no workflows are listed with all that is wrong with them.',
  examples: [
    { line: 'cairn workflows', does: 'those of the folder workflows' },
    { line: 'cairn workflows --workflows ops --workflows mine --tags release', does: 'later folders override' },
  ],
  execute(session, { workflows, ...input }) {
    return withApp(
      withoutStore(session),
      async (app) => {
        const output = await perform(listWorkflows, app, input);
        if (session.isJson) session.printJson(output);
        else printWorkflows(session, output);
        return 0;
      },
      { workflows },
    );
  },
};
