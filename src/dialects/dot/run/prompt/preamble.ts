/** Describes the run so far for the prompt of a stage, in the detail that its fidelity asks for. */
import { asText, contextValue, contextOf, isLarge, excerptOf } from '../context/context-reader.ts';
import type { ShownResult, StageOutput } from '../stage/stage-outcome.ts';
import type { StateView } from '../../../../graph/contracts/node-contract.ts';
import type { Turn } from './conversation.ts';
import { summaryTextOf } from '../../../../graph/contracts/cut-off.ts';
import { modelStep, type StageContext, type PromptScope } from '../stage/attempts.ts';

// Shortens texts for prompts.

/** The beginning of a text, and how much more there is. */
export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)} […${text.length - length} more characters]`;
}

/** The beginning and the end of a text: what programs print says at its end how it went. */
export function cutMiddle(text: string, length: number): string {
  if (text.length <= length) return text;
  const half = Math.floor(length / 2);
  const omitted = text.length - 2 * half;
  return `${text.slice(0, half)} [… ${omitted} more characters …] ${text.slice(-half)}`.toWellFormed();
}

// Tells prompts how the branches of a parallel stage ended, and what they answered.

/** Most characters that a prompt gets of each branch. */
export interface BranchAmount {
  readonly value: number;
  readonly answer: number;
}

export function tellBranches(results: readonly ShownResult[], amount: BranchAmount): string {
  return results.map((result) => tellBranch(result, amount)).join('\n');
}

function tellBranch(
  { id, outcome, failure_reason: reason, response, context }: ShownResult,
  amount: BranchAmount,
): string {
  const isAnswer = (key: string): boolean => key === 'last_response' && response !== undefined;
  const values = Object.entries(context).filter(([key, value]) => !isAnswer(key) && asText(value) !== '');
  const lines = [
    ...(response === undefined ? [] : [`answer: ${cut(response.trim(), amount.answer)}`]),
    ...values.map(([key, value]) => `${key}: ${cutMiddle(asText(value).trimEnd(), amount.value)}`),
  ];
  return [`- ${id}: ${ended(outcome, reason, amount.value)}`, ...lines.map(indented)].join('\n');
}

/** An outcome, and why, if it says why. */
function ended(outcome: string, reason: string | undefined, length: number): string {
  return reason === undefined || reason === '' || length === 0 ? outcome : `${outcome} (${cutMiddle(reason, length)})`;
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}

// The stages of a run that ended, in their order, as prompts tell of them.

/** A stage that ended, and its outcome. */
interface Ended {
  readonly stage: string;
  readonly outcome: string;
  /** Why it failed. Told of its last visit, whose output the run still has. */
  readonly reason?: string;
}

/** Key in the input of a branch: the newest stages that ended before the branch began. */
const inheritedStagesKey = '~stages';
const inheritedMax = 20;
const reasonMax = 1_000;

/** Stages of this run itself, without those before a branch. */
export function historyOf({ diagnostics }: StateView): readonly Ended[] {
  return (diagnostics['history'] ?? []) as readonly Ended[];
}

/** How many stages a prompt lists, and how long the reason of each is. */
export interface StagesAmount {
  readonly stages: number;
  readonly value: number;
}

/** All stages; of a branch those before it, too. */
function tellStages(state: StateView, amount: StagesAmount): string {
  return stageLines([...inheritedOf(state), ...withReasons(state)], amount);
}

/** The stages of this run from one in its history on. */
function tellStagesSince(state: StateView, first: number, amount: StagesAmount): string {
  return stageLines(withReasons(state).slice(first), amount);
}

export function inheritedStages(state: StateView): Readonly<Record<string, unknown>> {
  const stages = [...inheritedOf(state), ...withReasons(state)].slice(-inheritedMax);
  const shortened = stages.map(({ reason, ...one }) => ({
    ...one,
    ...(reason !== undefined && { reason: cutMiddle(reason, reasonMax) }),
  }));
  return shortened.length === 0 ? {} : { [inheritedStagesKey]: shortened };
}

function inheritedOf({ input }: StateView): readonly Ended[] {
  return ((input as Readonly<Record<string, unknown>> | undefined)?.[inheritedStagesKey] ?? []) as readonly Ended[];
}

function withReasons(state: StateView): readonly Ended[] {
  const history = historyOf(state);
  const newest = new Map(history.map(({ stage }, index) => [stage, index]));
  return history.map(({ stage, outcome }, index) => {
    const output = state.outputs[stage] as Partial<StageOutput> | undefined;
    const reason = newest.get(stage) === index ? output?.failure_reason : undefined;
    return { stage, outcome, ...(reason !== undefined && { reason }) };
  });
}

function stageLines(stages: readonly Ended[], { stages: count, value }: StagesAmount): string {
  if (count === 0) return '';
  const newest = stages.slice(-count);
  const omitted = stages.length - newest.length;
  const lines = newest.map(({ stage, outcome, reason }) => `- ${stage}: ${ended(outcome, reason, value)}`);
  return (omitted > 0 ? [`- ${omitted} more before`, ...lines] : lines).join('\n');
}

// The newest answer of a model in a run, and the stage that gave it.

export interface NewestAnswer {
  readonly stage: string;
  /** The whole answer. Of a handler that gives none, what it wrote as `last_response`. */
  readonly text: string;
}

/** Context key that names the stage whose answer `last_response` begins with. */
export const answeredKey = 'internal.answered';

/** Key in the input of a branch: the newest answer at the point where the branch began. The branch has no outputs of stages before it. */
const inheritedAnswerKey = '~answer';

/** Undefined if no stage has answered yet. */
export function newestAnswer(state: StateView): NewestAnswer | undefined {
  const inherited = (state.input as Readonly<Record<string, unknown>> | undefined)?.[inheritedAnswerKey];
  return ownAnswer(state) ?? (inherited as NewestAnswer | undefined);
}

/** The newest answer of this run itself, without what a branch inherited. */
export function ownAnswer(state: StateView): NewestAnswer | undefined {
  if (!Object.hasOwn(state.scratch, answeredKey)) return undefined;
  const stage = asText(state.scratch[answeredKey]);
  const { response } = (state.outputs[stage] ?? {}) as Partial<StageOutput>;
  return { stage, text: response ?? asText(contextValue(state, 'last_response')) };
}

export function inheritedAnswer(state: StateView): Readonly<Record<string, unknown>> {
  const answer = newestAnswer(state);
  return answer === undefined ? {} : { [inheritedAnswerKey]: answer };
}

interface Amount {
  /** Characters of the whole description. Four characters count as one token. */
  readonly total: number;
  /** How many stages of the history are described, from the newest back. */
  readonly stages: number;
  /** Characters of one context value. `answer` is the limit of the newest answer. */
  readonly value: number;
  readonly answer: number;
}

const compact: Amount = { total: 4_000, stages: 10, value: 300, answer: 2_000 };
const amounts: ReadonlyMap<string, Amount> = new Map(
  Object.entries({
    truncate: { total: 1_000, stages: 0, value: 0, answer: 0 },
    'summary:low': { total: 2_400, stages: 5, value: 100, answer: 500 },
    compact,
    'summary:medium': { total: 6_000, stages: 20, value: 500, answer: 3_000 },
    'summary:high': { total: 12_000, stages: 100, value: 1_000, answer: 8_000 },
    /** For a model that writes a summary. */
    whole: { total: 200_000, stages: 1_000, value: 20_000, answer: 50_000 },
  }),
);

/** Context values that repeat what the description says anyway. */
const untold =
  /^(?:graph\.|internal\.|parallel\.stage$|current_node$|last_response$|last_stage$|outcome$|preferred_label$)/;

/** The description, `` if there is nothing to say. A conversation that begins gets that of `summary:high`. */
export function preambleOf(state: StateView, fidelity: string): string {
  const amount = amounts.get(fidelity === 'full' ? 'summary:high' : fidelity) ?? compact;
  return joined(amount, [
    section('Goal', asText(contextValue(state, 'graph.goal'))),
    section('Stages so far', tellStages(state, amount)),
    section('Context', valuesOf(state, amount.value)),
    branchesOf(state, amount),
    answerSection(state, amount.answer),
  ]);
}

/** What other stages did since the thread's last turn. Sent when the thread goes on. */
export function newsOf(state: StateView, { answer, after }: Turn): string {
  const amount = amounts.get('summary:high') ?? compact;
  // The first one in the history behind the turn is the stage of the turn itself.
  const first = after + 1;
  if (historyOf(state).length <= first) return '';
  return joined(amount, [
    section('Stages since then', tellStagesSince(state, first, amount)),
    section('Context', valuesOf(state, amount.value)),
    branchesOf(state, amount),
    newestAnswer(state)?.text === answer ? '' : answerSection(state, amount.answer),
  ]);
}

function joined({ total }: Amount, parts: readonly string[]): string {
  return cut(parts.filter((part) => part !== '').join('\n\n'), total);
}

function answerSection(state: StateView, length: number): string {
  const newest = newestAnswer(state);
  return length === 0 || newest === undefined ? '' : section(`Answer of ${newest.stage}`, cut(newest.text, length));
}

function section(title: string, text: string): string {
  return text === '' ? '' : `${title}:\n${text}`;
}

/** How the branches of the last parallel stage ended. Results that are stored as a file appear as a value of the context. */
function branchesOf(state: StateView, { value, answer }: Amount): string {
  const results = contextValue(state, 'parallel.results');
  if (!Array.isArray(results) || value === 0) return '';
  const each = { value, answer: Math.floor(answer / results.length) };
  return section('Results of the branches', tellBranches(results as readonly ShownResult[], each));
}

function valuesOf(state: StateView, length: number): string {
  if (length === 0) return '';
  const isListed = (key: string, value: unknown): boolean =>
    !untold.test(key) && asText(value) !== '' && !(key === 'parallel.results' && Array.isArray(value));
  const entries = Object.entries(contextOf(state)).filter(([key, value]) => isListed(key, value));
  return entries
    .map(([key, value]) => `- ${key}: ${isLarge(value) ? excerptOf(value, length) : cutMiddle(asText(value), length)}`)
    .join('\n');
}

// Describes the run so far for a prompt: by rule, or as a summary by the model that the pipeline names.

/** Length of a summary in tokens. */
const tokens: Readonly<Record<string, number>> = {
  'summary:low': 600,
  'summary:medium': 1_500,
  'summary:high': 3_000,
};

/** A summary by a model is a recorded step: it is paid for once, and is the same after a crash. */
export async function summaryOf(stage: StageContext, { fidelity, summaryModel }: PromptScope): Promise<string> {
  const count = tokens[fidelity];
  if (summaryModel === undefined || count === undefined) return preambleOf(stage.ctx.state, fidelity);
  const preamble = preambleOf(stage.ctx.state, 'whole');
  if (preamble === '') return '';
  const { ctx, parts } = stage;
  const content = `${preamble}\n\nSum up the above for whoever does the next stage of this work, in at most ${count} tokens. Keep names, numbers, decisions, and what failed and why. Answer with the summary alone.`;
  return ctx.step('summary', modelStep(parts), async ({ idempotencyKey, signal }) => {
    const call = { model: summaryModel, messages: [{ role: 'user', content } as const], tokensMax: count };
    const response = await ctx.models.generate(call, { idempotencyKey, signal });
    return `The run so far:\n${summaryTextOf(response)}`;
  });
}
