/** The tools `execute_workflow` and `execute_inline_workflow`: start a workflow and, by default, follow it until it ends or asks. */
import { CairnError } from '../../errors.ts';
import type { WatchedEvent } from '../../operations/contract/operation.ts';
import { perform } from '../../operations/contract/perform.ts';
import { readStanding } from '../../operations/runs/read-standing.ts';
import { resumeRun } from '../../operations/runs/resume-run.ts';
import { startWorkflow, type StartWorkflowInput } from '../../operations/workflows/start-workflow.ts';
import type { JsonSchema } from '../ask/ask-client.ts';
import { converse } from './resume-workflow.ts';
import {
  followRun,
  runsWorkflows,
  showStanding,
  showViolation,
  standingSchema,
  text,
  type Tool,
  type ToolAnswer,
  type ToolCall,
  type ToolQuestions,
  type Violation,
} from './tool.ts';

interface Common {
  readonly inputs?: Readonly<Record<string, unknown>> | null;
  readonly run_id?: string;
  readonly wait?: boolean;
}

interface ExecuteWorkflowInput extends Common {
  readonly workflow: string;
}

interface ExecuteInlineInput extends Common {
  readonly workflow_yaml: string;
}

const commonInput: { readonly [Name in keyof Required<Common>]: JsonSchema } = {
  inputs: { type: ['object', 'null'], description: 'Values for the inputs of the workflow, by name.' },
  run_id: text('Id for the run: calling again with one id is the same run, never a second one.', { minLength: 1 }),
  wait: {
    type: 'boolean',
    description:
      'false: return at once with the run_id, and let the run go on; get_run says where it stands. Default true.',
  },
};

/** Lets a run go on in this process without a listener. Returns when the run is being advanced, so that nobody takes it for stopped. */
async function leave({ context, log }: ToolCall, run: string): Promise<ToolAnswer> {
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const watch = (event: WatchedEvent): void => {
    context.watch?.(event);
    begin();
  };
  const going = perform(resumeRun, { ...context, watch }, { run });
  going.catch((error: unknown) => log(`run ${run}: ${String(error)}`));
  await Promise.race([begun, going]);
  return showStanding(context, await perform(readStanding, context, { run }));
}

/** Goes on with a run that was admitted, or leaves it to the worker or host that was faster. */
async function go(call: ToolCall, run: string, isFollowed: boolean): Promise<ToolAnswer | ToolQuestions> {
  try {
    return await (isFollowed ? converse(call, () => followRun(call, run)) : leave(call, run));
  } catch (error) {
    if (!CairnError.is(error, 'CLAIM_TAKEN')) throw error;
    return showStanding(call.context, await perform(readStanding, call.context, { run }));
  }
}

async function start(
  call: ToolCall,
  chosen: Pick<StartWorkflowInput, 'workflow' | 'text'>,
  { inputs, run_id: runId, wait = true }: Common,
): Promise<ToolAnswer | ToolQuestions> {
  let warnings: readonly Violation[] = [];
  // The run is recorded first, so that a run that was accepted exists whatever happens to this call.
  const admit = async (): Promise<string> => {
    const input = { ...chosen, input: inputs ?? {}, detach: true, ...(runId !== undefined && { runId }) };
    const started = await perform(startWorkflow, call.context, input);
    warnings = started.warnings;
    return started.runId;
  };
  const answer = await go(call, await admit(), wait);
  if (!('content' in answer) || warnings.length === 0) return answer;
  return { ...answer, content: { ...answer.content, warnings: warnings.map(showViolation) } };
}

export const executeWorkflow: Tool<ExecuteWorkflowInput> = {
  name: 'execute_workflow',
  title: 'Execute a workflow',
  description:
    'Run a workflow by its name and wait until it ends or asks a question. status is success (with outputs), failure (with error) or paused (with prompt and checkpoint_id: answer with resume_workflow).',
  input: { workflow: text('Name of the workflow; list_workflows lists them.'), ...commonInput },
  required: ['workflow'],
  output: standingSchema,
  hints: runsWorkflows,
  run: (call, { workflow, ...common }) => start(call, { workflow }, common),
};

export const executeInlineWorkflow: Tool<ExecuteInlineInput> = {
  name: 'execute_inline_workflow',
  title: 'Execute a workflow given as YAML',
  description:
    'Run a workflow that is given as YAML text, as execute_workflow does. Only within the permissions that the server was started with; validate_workflow checks the text first.',
  input: { workflow_yaml: text('The workflow as YAML.', { minLength: 1 }), ...commonInput },
  required: ['workflow_yaml'],
  output: standingSchema,
  hints: runsWorkflows,
  run: (call, { workflow_yaml: yaml, ...common }) => start(call, { text: yaml }, common),
};
