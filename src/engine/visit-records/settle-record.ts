/** Writes the record of an activation that has settled, or that failed and stays open for a retry (C1, G8). */
import type { FrameTree, Intent, NodeRecord, StepRecord, SavedOutcome, NodeStatus } from '../../state/tree.ts';
import type { GraphEdge } from '../../graph/graph.ts';
import type { Admitted } from '../../state/values/admit.ts';
import { jsonUnderKey } from '../../state/values/encode.ts';
import type { Activation } from '../live-run/loop.ts';
import type { AdmittedOutcome } from '../validate/admit-outcome.ts';
import { appliedOf, endedIntent, isEffect } from '../live-run/run-core.ts';

// Finds effects in a visit's record that were started and have no result: those of its steps and of its child runs (X3).

/** An effect that was started and has no result. */
export interface DoubtedEffect {
  readonly node: readonly string[];
  readonly step?: string;
  readonly effect: string;
  readonly intent: Intent;
  /** What a person may say that it gave, if its code is at hand and says so. */
  readonly answerSchema?: Readonly<Record<string, unknown>>;
  /** When it is tried again, if it is known that the attempt failed. */
  readonly retryAt?: number | undefined;
}

/** The open effects among the steps and child runs of a visit that nobody has judged yet. */
export function* openEffectsOf(record: NodeRecord, path: readonly string[]): Generator<DoubtedEffect> {
  for (const [step, { status, intent, decision, told, effect = 'write', retryAt }] of Object.entries(
    record.steps ?? {},
  )) {
    if (status === 'started' && intent !== undefined && (decision ?? told) === undefined)
      yield { node: path, step, effect, intent, retryAt };
  }
  for (const [name, child] of Object.entries(record.children ?? {})) yield* openInFrame(child, [...path, name]);
}

function* openInFrame({ nodes }: FrameTree, path: readonly string[]): Generator<DoubtedEffect> {
  for (const [id, record] of Object.entries(nodes))
    if (record.fired === undefined) yield* openInVisit(record, [...path, id]);
}

/** The open effects of a visit that nobody has judged yet: its own, and those among its steps and child runs. */
export function* openInVisit(record: NodeRecord, node: readonly string[]): Generator<DoubtedEffect> {
  const { status, intent, decision, told, retryAt } = record;
  // A failed node has a result: whoever started the child run has got the failure.
  if (status !== 'failed' && intent !== undefined && (decision ?? told) === undefined)
    yield { node, effect: 'write', intent, retryAt };
  yield* openEffectsOf(record, node);
}

/** What is on record of an effect that has begun and not succeeded. */
export interface BegunEffect {
  /** The key of the step, if it is one of the visit itself; undefined for one in a child run. */
  readonly step?: string;
  readonly record: (StepRecord | NodeRecord) & { readonly intent: Intent };
}

/** The effects of a visit that have begun and not succeeded: of its steps, and in its child runs. */
export function* begunEffectsOf({ steps = {}, children = {} }: NodeRecord): Generator<BegunEffect> {
  for (const [step, record] of Object.entries(steps)) if (isBegun(record)) yield { step, record };
  for (const child of Object.values(children)) yield* begunIn(child);
}

function isBegun(record: StepRecord | NodeRecord): record is BegunEffect['record'] {
  return record.intent !== undefined && record.status !== 'done';
}

function* begunIn({ nodes }: FrameTree): Generator<BegunEffect> {
  for (const record of Object.values(nodes)) {
    if (record.fired !== undefined) continue;
    if (isBegun(record)) yield { record };
    for (const { record: below } of begunEffectsOf(record)) yield { record: below };
  }
}

/** Where an outcome came from, if it is not the result of an attempt. */
export interface SettleSource {
  readonly by?: string;
  readonly from?: { readonly runId: string; readonly seq: number };
  /** For an outcome that was taken over: the input of the recorded activation. */
  readonly input?: ActivationInput;
  /** Writes what must be in the same checkpoint as the outcome, such as the note that it was taken over. */
  readonly note?: () => void;
}

/** Determines whether two activations had equal input, for forks (X2). */
export interface ActivationInput {
  readonly hash: string;
  /** Channels that were read, if the node does not declare its reads. */
  readonly reads: readonly string[] | undefined;
}

/** How an activation ended. */
export interface Ending {
  readonly status: NodeStatus;
  /** The edges fired. Undefined if the failure was not handled, so that the visit stays open for a retry. */
  readonly fired: readonly GraphEdge[] | undefined;
  readonly error?: unknown;
  readonly outcome: AdmittedOutcome;
  readonly isSaved?: boolean;
  readonly source: SettleSource;
}

/** The updates as the node gave them, as JSON by partition. */
export function updatesJson(outcome: AdmittedOutcome): string | undefined {
  if (outcome.updates === undefined) return undefined;
  const member = (key: string, json: string): string => `${JSON.stringify(key)}:${json}`;
  const partition = (updates: Readonly<Record<string, Admitted>>): string =>
    `{${Object.entries(updates)
      .map(([key, value]) => member(key, jsonUnderKey(key, value.json)))
      .join(',')}}`;
  return `{${Object.entries(outcome.updates)
    .map(([name, updates]) => member(name, partition(updates)))
    .join(',')}}`;
}

/** Whether a cancelled visit has an effect that nobody waits for. Its record keeps the effect, so that people can see it. */
function isInDoubt({ path }: Activation, record: NodeRecord | undefined): boolean {
  return record !== undefined && openEffectsOf(record, path).next().done !== true;
}

/** Writes what remains of a visit. */
export function writeRecord(activation: Activation, ending: Ending, error: Admitted | undefined): void {
  const { frameRun, node } = activation;
  const { outcome } = ending;
  const settled = ending.fired === undefined ? undefined : frameRun.plan.settledFields(node.index, ending.fired);
  const previous = frameRun.openRecordOf(node);
  const isOpen = ending.fired === undefined || (ending.status === 'cancelled' && isInDoubt(activation, previous));
  const keepsSteps = previous?.steps !== undefined && (isOpen || outcome.outputOfSteps !== undefined);
  const record: NodeRecord = { status: ending.status };
  const texts: string[] | undefined = keepsSteps ? [`"${ending.status}"`] : undefined;
  let json = `{"status":"${ending.status}"`;
  const field = (name: keyof NodeRecord, value: unknown, text: string): void => {
    (record as unknown as Record<string, unknown>)[name] = value;
    if (texts !== undefined) texts.push(text);
    else json += `,"${name}":${text}`;
  };
  if (activation.visit > 1) field('visits', activation.visit, String(activation.visit));
  if (activation.attempt > 1) field('attempt', activation.attempt, String(activation.attempt));
  const epoch = settled?.epoch ?? frameRun.frame.tree.epoch ?? 0;
  if (epoch > 0) field('epoch', epoch, String(epoch));
  if (activation.took !== undefined) field('took', activation.took, JSON.stringify(activation.took));
  for (const [name, amounts] of Object.entries(activation.account ?? {}))
    field(name as keyof NodeRecord, amounts, JSON.stringify(amounts));
  if (outcome.goto !== undefined) field('goto', outcome.goto, JSON.stringify(outcome.goto));
  if (outcome.verdict !== undefined && ending.status === 'completed')
    field('verdict', outcome.verdict, JSON.stringify(outcome.verdict));
  if (error !== undefined) field('error', error.value, error.json);
  if (settled !== undefined) {
    field('fired', settled.fired, JSON.stringify(settled.fired));
    if (settled.held !== undefined) field('held', settled.held, JSON.stringify(settled.held));
  }
  if (ending.fired === undefined) keepForRetry(activation, ending, field);
  else if (outcome.output !== undefined) field('output', outcome.output.value, outcome.output.json);
  const { outputOfSteps } = outcome;
  if (outputOfSteps !== undefined && ending.status === 'completed')
    field('outputOfSteps', outputOfSteps, JSON.stringify(outputOfSteps));
  // A visit that was cancelled before it was started certainly had no effect (X3).
  if (ending.status === 'cancelled' && isEffect(node) && previous?.intent === undefined) field('applied', 'no', '"no"');
  if (node.outputAs !== undefined && ending.status === 'completed')
    field('as', node.outputAs, JSON.stringify(node.outputAs));
  if (texts !== undefined) updateRecord(activation, record, texts);
  else frameRun.frame.setNode(node.id, record, `${json}}`);
}

/** The fields that a retry of an unhandled failure needs: the outcome if there was one, and whether the effect may have happened (X3). */
function keepForRetry(
  activation: Activation,
  ending: Ending,
  field: (name: keyof NodeRecord, value: unknown, json: string) => void,
): void {
  const previous = activation.frameRun.openRecordOf(activation.node);
  if (previous?.view !== undefined) field('view', previous.view, String(previous.view));
  if (previous?.budget !== undefined) field('budget', previous.budget, JSON.stringify(previous.budget));
  if (previous?.onBudget !== undefined) field('onBudget', previous.onBudget, '"fail"');
  if (previous?.intent !== undefined) {
    // Its function was called here, and it has ended.
    const intent = activation.generation > 0 ? endedIntent(previous.intent) : previous.intent;
    field('intent', intent, JSON.stringify(intent));
  }
  const applied = appliedOf(ending.error);
  if (applied !== undefined) field('applied', applied, `"${applied}"`);
  if (activation.isRetryWithheld) field('withheld', true, 'true');
  if (activation.budgetFrom > 0) field('budgetFrom', activation.budgetFrom, String(activation.budgetFrom));
  const unused = activation.frameRun.plan.unusedFirings(activation.node.index);
  if (unused !== undefined) field('held', unused, JSON.stringify(unused));
  if (ending.isSaved !== true) return;
  const { output, outputOfSteps, updates, goto, verdict } = ending.outcome;
  const members = [
    ...(output === undefined ? [] : [`"output":${output.json}`]),
    ...(outputOfSteps === undefined ? [] : [`"outputOfSteps":${JSON.stringify(outputOfSteps)}`]),
    ...(updates === undefined ? [] : [`"updates":${updatesJson(ending.outcome)}`]),
    ...(goto === undefined ? [] : [`"goto":${JSON.stringify(goto)}`]),
    ...(verdict === undefined ? [] : [`"verdict":${JSON.stringify(verdict)}`]),
  ];
  field('kept', savedOutcome(ending.outcome), `{${members.join(',')}}`);
}

/** The values of an outcome, as a record keeps them. */
export function savedOutcome({ output, outputOfSteps, updates, goto, verdict }: AdmittedOutcome): SavedOutcome {
  const plain = (admitted: Readonly<Record<string, Admitted>>): Record<string, unknown> =>
    Object.fromEntries(Object.entries(admitted).map(([key, value]) => [key, value.value]));
  return {
    ...(output === undefined ? {} : { output: output.value }),
    ...(outputOfSteps === undefined ? {} : { outputOfSteps }),
    ...(updates === undefined
      ? {}
      : { updates: Object.fromEntries(Object.entries(updates).map(([name, values]) => [name, plain(values)])) }),
    ...(goto === undefined ? {} : { goto }),
    ...(verdict === undefined ? {} : { verdict }),
  };
}

/** Fields that are removed when a visit ends, unless its end sets them. */
const passingFields = [
  'view',
  'intent',
  'retryAt',
  'deadlineAt',
  'decision',
  'error',
  'applied',
  'withheld',
  'told',
  'kept',
  'budgetFrom',
  'budget',
  'onBudget',
] as const;

/** Fields that only a visit in progress needs. */
const innerFields = ['retired', 'lists', 'listsFrom', 'listsLeft', 'events', 'eventsFrom'] as const;

/** Changes an existing record field by field, so that its steps are not written again. `texts`: the JSON texts of the fields, in order. */
function updateRecord(activation: Activation, record: NodeRecord, texts: readonly string[]): void {
  const { frameRun, node } = activation;
  const { frame } = frameRun;
  for (const [index, [name, value]] of Object.entries(record).entries())
    frame.setNodeField(node.id, name, value, texts[index] as string);
  for (const name of passingFields) {
    if (!(name in record) && frameRun.recordOf(node)?.[name] !== undefined) frame.deleteNodeField(node.id, name);
  }
  if (record.fired !== undefined) for (const name of innerFields) frame.deleteNodeField(node.id, name);
}
