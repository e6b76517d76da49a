/**
 * A stage for an agent: a model that works with tools until it answers. Its model calls and its tool calls are steps: a kill repeats none.
 */
import { wholeTextOf } from '../../../../graph/contracts/cut-off.ts';
import {
  stageTools,
  type StageAgent,
  type StageAgentRequest,
  type StageTool,
  type ToolHooks,
} from '../../../../graph/contracts/stage-agent.ts';
import type { NodeType } from '../../../../graph/contracts/node-type.ts';
import {
  type ModelCall,
  type ModelMessage,
  type ReasoningEffort,
  textOf,
} from '../../../../graph/contracts/model-messages.ts';
import { spendTokens } from '../../../../graph/contracts/spend-counted.ts';
import type { Stage } from '../../model/pipeline.ts';
import { asText, contextValue, edgeKey, expand, resumedKey, steerSignal } from '../context/context-reader.ts';
import { openThread } from '../prompt/conversation.ts';
import { newsOf, summaryOf } from '../prompt/preamble.ts';
import {
  type ModelRequest,
  type StageContext,
  type StageHandler,
  type PromptScope,
  inAttempts,
  modelStep,
} from '../stage/attempts.ts';
import { readReport, reportIn, stageStatuses, type StageOutcome } from '../stage/stage-outcome.ts';
import { exitFailure, reportedOutcome, runStageCommand } from './tool.ts';

// A stage for a language model: the prompt, what the run says so far, and what the answer reports of itself.

/** Characters of an answer that are recorded in the context. The whole answer is in the stage's output. */
const headMax = 200;

export const codergenHandler: StageHandler = {
  effect: 'external',
  isModelCall: true,
  isIdempotent: () => true,
  needs: (stage) => [{ kind: 'model', name: modelNameOf(stage) }],
  modelRequestOf,
  run: async (stage) => {
    const { earlier, prompt } = stage.modelRequest as ModelRequest;
    const answer = await askModel(stage, prompt, earlier);
    const outcome = await verdictOf(stage, answer);
    const contextUpdates = { ...outcome.contextUpdates, last_response: headOf(answer) };
    return { ...outcome, contextUpdates, response: answer };
  },
};

/** `provider:name`, or a name that the configuration maps to a model. */
export function modelNameOf({ attributes }: Stage): string {
  const model = attributes.text('llm_model');
  const provider = attributes.text('llm_provider');
  if (model === '') return 'default';
  return provider === '' || model.includes(':') ? model : `${provider}:${model}`;
}

/** The settings of a stage for its model. */
function settingsOf({ attributes }: Stage): Pick<ModelCall, 'reasoning' | 'tokensMax'> {
  const effort = attributes.text('reasoning_effort');
  const tokensMax = attributes.integer('max_tokens');
  return {
    ...(effort !== '' && { reasoning: effort as ReasoningEffort }),
    ...(tokensMax !== undefined && { tokensMax }),
  };
}

export async function askModel(
  { ctx, parts, step }: StageContext,
  prompt: string,
  earlier: readonly ModelMessage[] = [],
  part = '',
): Promise<string> {
  const model = modelNameOf(parts.stage);
  const response = await ctx.models.generate(
    {
      model,
      messages: [...earlier, { role: 'user', content: prompt }],
      ...settingsOf(parts.stage),
    },
    step === undefined ? {} : { idempotencyKey: `${step.idempotencyKey}${part}`, signal: step.signal },
  );
  if (step !== undefined) spendTokens(ctx, step, response.usage);
  return wholeTextOf(response, 'profile');
}

/** The whole prompt: the run so far (as much as the fidelity says), the stage's own prompt, and the instructions for the report. */
export async function modelRequestOf(stage: StageContext): Promise<ModelRequest> {
  const { ctx, parts, attributes } = stage;
  const edge = contextValue(ctx.state, edgeKey);
  const configured = parts.promptScopeOf(typeof edge === 'string' ? edge : undefined);
  const isResumed = ctx.attempt > 1 || ctx.state.scratch[resumedKey] === true;
  const scope = isResumed ? degraded(configured) : configured;
  const thread = scope.fidelity === 'full' ? openThread(ctx.state, scope.thread, parts.stage.id) : undefined;
  const preamble = thread?.last === undefined ? await summaryOf(stage, scope) : newsOf(ctx.state, thread.last);
  const heard = parts.isSteered ? await heardBy(stage) : '';
  const own = attributes.text('prompt') || attributes.text('label') || parts.stage.id;
  const pieces = [preamble, heard, expand(own, ctx.state, parts.params), mustReport(stage) ? reportRequest(stage) : ''];
  return {
    earlier: thread?.messages ?? [],
    prompt: pieces.filter((piece) => piece !== '').join('\n\n'),
    thread: thread?.name,
  };
}

/** The messages that a parent pipeline has sent since the last stage for a model. */
async function heardBy({ ctx }: StageContext): Promise<string> {
  const heard: string[] = [];
  for (let word = await hear(ctx); word !== undefined; word = await hear(ctx)) heard.push(`- ${asText(word)}`);
  return heard.length === 0 ? '' : `From whoever oversees this work:\n${heard.join('\n')}`;
}

function hear(ctx: StageContext['ctx']): Promise<unknown> {
  return ctx.receive(steerSignal, { waits: false });
}

/** How much of the run a prompt contains after a resume, if the pipeline sets that. It is never more than without a resume. */
function degraded(scope: PromptScope): PromptScope {
  const { fidelity, resumeFidelity } = scope;
  if (resumeFidelity === undefined || amounts.indexOf(fidelity) <= amounts.indexOf(resumeFidelity)) return scope;
  return { ...scope, fidelity: resumeFidelity };
}

const amounts: readonly string[] = ['truncate', 'summary:low', 'compact', 'summary:medium', 'summary:high', 'full'];

/** Whether the run's way depends on what the stage reports, so that the prompt must ask for a report. */
function mustReport({ parts, attributes }: StageContext): boolean {
  return (
    attributes.flag('goal_gate') ||
    parts.outcomes.size > 0 ||
    parts.ways.edges.length > 1 ||
    parts.ways.edges.some(({ takesFailures }) => takesFailures)
  );
}

function reportRequest({ parts, attributes }: StageContext): string {
  const labels = parts.ways.edges.map(({ caption }) => caption).filter((caption) => caption !== '');
  const lines = [
    attributes.text('agent_command') === ''
      ? 'End your answer with one JSON object that says how it went:'
      : 'Say how it went with one JSON object: write it to the file that the variable CAIRN_STATUS_FILE names, or end your answer with it.',
    `{"outcome": ${[...stageStatuses.slice(0, 4), ...parts.ownOutcomes]
      .map((status) => JSON.stringify(status))
      .join(' | ')}, "failure_reason": "why, if it failed", "notes": "…"}`,
  ];
  if (labels.length > 0)
    lines.push(
      `Add "preferred_label", one of ${labels.map((label) => JSON.stringify(label)).join(', ')}, to choose what comes next.`,
    );
  return lines.join('\n');
}

/**
 * Whether silence is no success: a goal gate is passed by a verdict alone, and so are edges that read the outcome, unless `auto_status`
 * holds.
 */
function needsVerdict({ parts, attributes }: StageContext): boolean {
  return attributes.flag('goal_gate') || (parts.outcomes.size > 0 && !attributes.flag('auto_status'));
}

/** Why an answer is no verdict. Undefined if it is one. */
function reportFault({ parts }: StageContext, answer: string): string | undefined {
  const found = reportIn(answer);
  const report = found === undefined ? noReport : readReport(found, parts.ownOutcomes);
  return 'fault' in report ? report.fault : undefined;
}

const noReport = { fault: 'it does not end with the JSON object that says how it went' } as const;

/**
 * How the stage ended. If a verdict is needed and the answer has none in the requested form, the model is asked for it once more.
 * The stage's notes say so. Without a verdict then, the stage fails.
 * @param attempt - of a stage that records its steps itself, counted from 1
 */
async function verdictOf(stage: StageContext, answer: string, attempt = 1): Promise<StageOutcome> {
  const fault = needsVerdict(stage) ? reportFault(stage, answer) : undefined;
  if (fault === undefined) return outcomeOf(stage, answer);
  const { ctx, parts, modelRequest, step } = stage;
  const { earlier = [], prompt = '' } = modelRequest ?? {};
  const messages: readonly ModelMessage[] = [
    ...earlier,
    { role: 'user', content: prompt },
    { role: 'assistant', content: answer },
  ];
  const request = `Your answer cannot be taken: ${fault}.\n${reportRequest(stage)}\nAnswer with that object alone.`;
  const ask = (own: StageContext['step']): Promise<string> =>
    askModel({ ...stage, ...(own !== undefined && { step: own }) }, request, messages, '-verdict');
  const name = attempt === 1 ? 'verdict' : `attempt ${attempt} verdict`;
  const outcome = outcomeOf(stage, step === undefined ? await ctx.step(name, modelStep(parts), ask) : await ask(step));
  const again = 'asked once more for its verdict';
  return { ...outcome, notes: outcome.notes === undefined ? again : `${again}: ${outcome.notes}` };
}

/** How the stage ended, by the report at the end of the model's answer. */
function outcomeOf(stage: StageContext, answer: string): StageOutcome {
  const found = reportIn(answer);
  if (found === undefined) {
    if (!needsVerdict(stage)) return { status: 'success' };
    const who = stage.attributes.flag('goal_gate') ? 'the goal gate' : 'the stage, whose edges read its outcome,';
    return { status: 'fail', failureReason: `${who} gave no verdict: no outcome ends its answer` };
  }
  const report = readReport(found, stage.parts.ownOutcomes);
  return 'fault' in report ? { status: 'fail', failureReason: `its report cannot be taken: ${report.fault}` } : report;
}

/** The beginning of an answer, which the context keeps. */
function headOf(answer: string): string {
  return answer.slice(0, headMax);
}

/** @param isGranted - checks the places of files when they are used. Default: all is granted */
export function agentHandler(agent: StageAgent, isGranted?: StageAgentRequest['isGranted']): StageHandler {
  return {
    needs: (stage, folder) => [
      { kind: 'model', name: modelNameOf(stage) },
      ...agent.needs(toolsIn(stage, 'tools'), folder),
      ...(hookNames.some((name) => stage.attributes.text(name) !== '') ? [{ kind: 'shell' } as const] : []),
    ],
    modelRequestOf,
    run: (stage) => inAttempts(stage, (attempt) => work(stage, agent, { attempt, ...(isGranted && { isGranted }) })),
  };
}

const hookNames = ['tool_hooks.pre', 'tool_hooks.post'] as const;

async function work(
  stage: StageContext,
  agent: StageAgent,
  options: Pick<StageAgentRequest, 'attempt' | 'isGranted'>,
): Promise<StageOutcome> {
  const { ctx, parts, attributes } = stage;
  const { earlier, prompt } = stage.modelRequest as ModelRequest;
  const loopsMax = attributes.integer('max_turns');
  const hooks = hooksOf(stage);
  const answer = await agent.run(ctx, {
    model: modelNameOf(parts.stage),
    messages: [...earlier, { role: 'user', content: prompt }],
    tools: toolsIn(parts.stage, 'tools'),
    allow: toolsIn(parts.stage, 'allow_tools'),
    folder: parts.folder,
    counted: ['tokens', 'seconds'].filter((unit) => ctx.isBudgeted?.(unit) === true),
    ...options,
    ...(loopsMax !== undefined && { loopsMax }),
    ...(attributes.text('on_change') === 'refuse' && { onChange: 'refuse' }),
    ...(parts.timeoutMs !== undefined && { timeoutMs: parts.timeoutMs }),
    ...(parts.limit !== undefined && { limit: parts.limit }),
    settings: settingsOf(parts.stage),
    ...(hooks !== undefined && { hooks }),
  });
  const outcome = await verdictOf(stage, answer, options.attempt);
  return {
    ...outcome,
    contextUpdates: { ...outcome.contextUpdates, last_response: headOf(answer) },
    response: answer,
  };
}

/** The tools that an attribute names. Other names are omitted here, since the lint reports them. */
function toolsIn({ attributes }: Stage, attribute: string): readonly StageTool[] {
  const named = attributes.list(attribute);
  return stageTools.filter((tool) => named.includes(tool));
}

function hooksOf({ parts, attributes, value }: StageContext): ToolHooks | undefined {
  const [pre, post] = hookNames.map((name) => attributes.text(name) || parts.graph.text(name));
  if (pre === '' && post === '') return undefined;
  const params = parts.params.map((name) => [name, asText(value(`graph.${name}`))] as const);
  return {
    env: { ...Object.fromEntries(params), CAIRN_STAGE: parts.stage.id },
    ...(pre !== undefined && pre !== '' && { pre }),
    ...(post !== undefined && post !== '' && { post }),
  };
}

// A stage for a coding agent that is a separate program. It reads the prompt from its input, and reports by its status file or its last
// words.

/** @param shell - the block type `Shell`, which runs commands */
export function commandAgentHandler(shell: NodeType): StageHandler {
  return {
    effect: 'external',
    isIdempotent: ({ attributes }) => attributes.flag('idempotent'),
    needs: () => [{ kind: 'shell' }],
    modelRequestOf,
    run: (stage) => runAgent(stage, shell),
  };
}

async function runAgent(stage: StageContext, shell: NodeType): Promise<StageOutcome> {
  const { earlier, prompt, thread } = stage.modelRequest as ModelRequest;
  const model = modelNameOf(stage.parts.stage);
  const end = await runStageCommand(stage, shell, {
    script: stage.attributes.text('agent_command'),
    prompt: [...earlier.map(textOfTurn), prompt].join('\n\n'),
    env: { ...(thread !== undefined && { CAIRN_THREAD: thread }), ...(model !== 'default' && { CAIRN_MODEL: model }) },
  });
  const { stdout, stderr, exitCode, reported } = end;
  const written = reportedOutcome(stage, reported);
  const outcome = written ?? outcomeOf(stage, stdout);
  const contextUpdates = { ...outcome.contextUpdates, last_response: headOf(stdout) };
  const result: StageOutcome = { ...outcome, contextUpdates, response: stdout };
  // A failed program's last words are not used as the reason of the failure; its status file is.
  if (exitCode !== 0)
    throw exitFailure(end, stderr, written === undefined ? { contextUpdates, response: stdout } : result);
  return result;
}

/** An earlier turn of the conversation as text, for a program that keeps none itself. */
function textOfTurn(message: ModelMessage): string {
  return message.role === 'tool' ? '' : `[${message.role}]\n${textOf(message.content)}`;
}
