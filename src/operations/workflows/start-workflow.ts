/** Workflows as text: read, and started. */
import { definition, objectOf, started } from '../contract/output-shapes.ts';
import { CairnError } from '../../errors.ts';
import type { Operation, WorkContext } from '../contract/operation.ts';
import type { TextWorkflow } from '../../dialects/text-workflow.ts';
import { startGraph, type StartRunOutput } from '../runs/start-run.ts';

// The text of a known workflow as it was read, which is also what is recorded with a run that is started now.

interface ReadWorkflowTextInput {
  readonly workflow: string;
}

interface ReadWorkflowTextOutput {
  readonly text: string;
}

export const readWorkflowText: Operation<ReadWorkflowTextInput, ReadWorkflowTextOutput, WorkContext> = {
  name: 'read_workflow_text',
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

export interface StartWorkflowInput {
  /** Name of the workflow; give either this or `text`. */
  readonly workflow?: string;
  readonly text?: string;
  readonly input?: unknown;
  readonly runId?: string;
  readonly detach?: boolean;
  readonly by?: string;
}

async function readWorkflow(
  context: WorkContext,
  { workflow: name, text }: StartWorkflowInput,
): Promise<{ readonly workflow: TextWorkflow; readonly source?: string }> {
  if ((name === undefined) === (text === undefined))
    throw new CairnError('USAGE_INVALID', {
      reason: 'give the name of a workflow, or the text of one',
      hint: 'One of them, not both.',
    });
  const workflows = await context.openWorkflows();
  if (text !== undefined) return { workflow: await workflows.readInline(text) };
  const { workflow, source } = workflows.get(name ?? '');
  return { workflow, source: context.savedSource(source) };
}

export const startWorkflow: Operation<StartWorkflowInput, StartRunOutput, WorkContext> = {
  name: 'start_workflow',
  summary: 'start a workflow by its name, or from its text',
  input: {
    workflow: { type: 'text', description: 'the name of a known workflow', isPositional: true },
    text: { type: 'text', description: 'a workflow in YAML, under the permissions of such' },
    input: { type: 'value', description: 'its inputs, by name' },
    runId: { type: 'text', description: 'id of the run; starting twice with one id is the same run' },
    detach: { type: 'flag', description: 'only record the run; do not stay with it' },
    by: { type: 'text', description: 'who starts it, for the record', isActor: true },
  },
  output: 'the run, and where it stands',
  outputSchema: started,
  isReadOnly: false,
  scope: 'run',
  async run(context, request) {
    const { workflow, source } = await readWorkflow(context, request);
    const { graph, warnings } = workflow;
    const { input = {}, runId, detach = false, by } = request;
    const meta = source === undefined ? {} : { source };
    const own = { ...(runId !== undefined && { runId }), ...(by !== undefined && { by }) };
    return startGraph(context, graph, input, { meta, detach, warnings, ...own });
  },
};
