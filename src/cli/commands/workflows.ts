/** `workflows`, `plan`, `schema`, `draw`: what workflows there are, and what one of them is. */
import { perform } from '../../operations/contract/perform.ts';
import { planWorkflow, type PlanWorkflowInput } from '../../operations/workflows/check-workflow.ts';
import {
  listWorkflows,
  type ListWorkflowsInput,
  type ListWorkflowsOutput,
} from '../../operations/workflows/describe-workflow.ts';
import type { WorkflowDescription } from '../../operations/contract/workflows.ts';
import { withoutStore, workflowsField, type Command, type Session, formatViolation, ofOperation } from '../session.ts';
import { withApp } from '../live/follow.ts';
import { jsonText, printable } from '../../operations/format/terminal.ts';
import { isModule, formatTable } from '../text/terminal-text.ts';
import { formatPlan } from '../text/plan-text.ts';
import { draw, type DrawInput } from '../../operations/workflows/draw.ts';
import { writeOwnFile } from '../files.ts';

// `cairn plan`

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

// `cairn schema`

export const schemaCommand: Command = {
  name: 'schema',
  summary: 'print the JSON Schema of workflow files',
  fields: {},
  details:
    'With it editors complete and check workflow files. It is made from the blocks there are here, those of the configuration included.',
  examples: [
    { line: 'cairn schema > workflow.schema.json', does: 'keep it, for an editor' },
    {
      line: '# yaml-language-server: $schema=workflow.schema.json',
      does: 'the first line of a workflow, for editors that know this remark',
    },
  ],
  execute(session) {
    return withApp(withoutStore(session), async (app) => {
      const schema = await app.readSchema();
      session.screen.print(jsonText(schema, session.isJson ? 0 : 2));
      return 0;
    });
  },
};

// `cairn draw`

interface DrawArguments extends DrawInput {
  readonly out?: string;
  readonly workflows?: readonly string[];
}

export const drawCommand: Command<DrawArguments> = {
  ...ofOperation(draw),
  fields: {
    ...draw.input,
    out: { type: 'text', description: 'the file to write; default: the SVG is printed' },
    workflows: workflowsField,
  },
  details: 'Of a run, what was not reached is pale, and edges that were taken are bold.',
  examples: [
    { line: 'cairn draw release.dot --out release.svg', does: 'a pipeline, before it is run' },
    { line: 'cairn draw 0198c2f4 --out run.svg', does: 'a run, coloured by what happened' },
  ],
  execute(session, { out, workflows, ...input }) {
    return withApp(
      session,
      async (app) => {
        const output = await perform(draw, app, input);
        if (out !== undefined) writeOwnFile(session.cwd, out, `${output.svg}\n`);
        if (session.isJson) session.printJson(output);
        else if (out === undefined) session.screen.print(output.svg);
        else session.screen.print(`drew ${printable(input.target)} to ${printable(out)}`);
        return 0;
      },
      { workflows },
    );
  },
};

// `cairn workflows`

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
