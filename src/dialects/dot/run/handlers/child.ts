/** A stage that runs another pipeline as a child of this run, looks at it from time to time, and steers it or stops it. */
import {
  NodeFailure,
  type ChildHandle,
  type ChildResult,
  type StateView,
} from '../../../../graph/contracts/node-contract.ts';
import type { TextWorkflow } from '../../../text-workflow.ts';
import { holds, parseCondition, type ConditionFacts } from '../../model/condition.ts';
import { askModel } from './codergen.ts';
import { asText, contextValue, expand, steerSignal } from '../context/context-keys.ts';
import type { PipelineResult } from './ends.ts';
import { failuresIn, rootMessage } from '../stage/failures-in.ts';
import { SeenChild } from './seen-child.ts';
import { newestAnswer } from '../prompt/newest-answer.ts';
import { historyOf } from '../prompt/ended-stages.ts';
import { preambleOf } from '../prompt/preamble.ts';
import { modelStep, type StageContext, type StageHandler } from '../stage/stage-parts.ts';
import { reportIn, type StageFailure, type StageOutcome } from '../stage/stage-outcome.ts';

const pollMsDefault = 45_000;
const cyclesMaxDefault = 1_000;
/** How long nobody looks at a child, at least, in which an effect is in doubt: it waits for a person. */
const doubtPollMs = 600_000;

/** Begins a child that does not begin by itself. */
const startSignal = 'start';

export function childHandler(child: TextWorkflow): StageHandler {
  return { run: (stage) => runChild(stage, child) };
}

async function runChild(stage: StageContext, child: TextWorkflow): Promise<StageOutcome> {
  const { ctx, attributes } = stage;
  if (attributes.text('stack.child_autostart') === 'false') await ctx.receive(startSignal);
  const input = inputFor(child, stage);
  const missing = missingOf(child, input);
  if (missing.length > 0) {
    const file = attributes.text('stack.child_dotfile') || stage.parts.graph.text('stack.child_dotfile');
    const why = `${file} needs ${missing.join(', ')}, of which neither the context nor a parameter here has a value`;
    throw new NodeFailure(why, { code: 'INPUT_INVALID', applied: 'no' });
  }
  const handle = await ctx.start(child.graph, input, { name: 'child' });
  const ended = handle.result();
  const seen = new SeenChild(child, handle);
  const stop = await oversee(stage, { child, handle, ended, seen });
  if (stop === undefined) return outcomeOf(stage, await ended);
  // Read first: of runs within a child nothing is left when it is cancelled.
  const known = await seen.failures();
  await handle.cancel(stop.why);
  const result = await ended;
  // It may have come to its end by itself while it was looked at.
  if (result.status !== 'cancelled') return outcomeOf(stage, result);
  return end(stop.status, 'stopped', {
    failures: inside(stage, known ?? failuresIn(result)),
    ...(stop.status === 'fail' ? { failureReason: stop.why } : { notes: stop.why }),
  });
}

/** A child that runs. */
interface Overseen {
  readonly child: TextWorkflow;
  readonly handle: ChildHandle;
  readonly ended: Promise<ChildResult>;
  readonly seen: SeenChild;
}

/**
 * Looks at the child from time to time. While somebody is asked about an effect in it, it is neither judged nor stopped, and no cycle
 * counts.
 * @returns why it is stopped; undefined if it has ended
 */
async function oversee(stage: StageContext, overseen: Overseen): Promise<Stopped | undefined> {
  const { ctx, attributes } = stage;
  const pollMs = attributes.durationMs('manager.poll_interval') ?? pollMsDefault;
  const cyclesMax = attributes.integer('manager.max_cycles') ?? cyclesMaxDefault;
  let isInDoubt = false;
  for (let cycle = 1; cycle <= cyclesMax; cycle += isInDoubt ? 0 : 1) {
    const waitMs = isInDoubt ? Math.max(pollMs, doubtPollMs) : pollMs;
    const poll = ctx.sleepUntil(ctx.now() + waitMs, 'poll').then(() => undefined);
    if ((await Promise.race([overseen.ended, poll])) !== undefined) return undefined;
    isInDoubt = await overseen.handle.isInDoubt();
    const stopped = isInDoubt ? undefined : await look(stage, overseen);
    if (stopped !== undefined) return stopped;
  }
  const why = `${overseen.child.name} did not end within ${cyclesMax} cycles of ${pollMs / 1_000} s`;
  return { status: 'fail', why };
}

/**
 * The child's input. A parameter gets the context value of its name, or else this pipeline's parameter of that name. A goal of the child's
 * own is kept.
 */
function inputFor({ inputs }: TextWorkflow, { value }: StageContext): Readonly<Record<string, string>> {
  const given = inputs.flatMap(({ name, default: own }): [string, string][] => {
    const known = name === 'goal' && own !== '' ? undefined : (value(name) ?? value(`graph.${name}`));
    return known === undefined ? [] : [[name, asText(known)]];
  });
  return Object.fromEntries(given);
}

/** The parameters that the child needs and does not get. */
function missingOf({ inputs }: TextWorkflow, given: Readonly<Record<string, string>>): readonly string[] {
  return inputs.filter(({ name, isRequired }) => isRequired && given[name] === undefined).map(({ name }) => name);
}

/** Why a child is stopped, and how its stage ends because of that. */
interface Stopped {
  readonly status: 'success' | 'fail';
  readonly why: string;
}

/** Looks at the child once. The result is undefined if the child goes on. */
async function look(stage: StageContext, { handle, seen: child }: Overseen): Promise<Stopped | undefined> {
  const { ctx, attributes } = stage;
  const condition = attributes.text('manager.stop_condition');
  const isSteering = attributes.list('manager.actions').includes('steer') && attributes.text('prompt') !== '';
  if (condition === '' && !isSteering) return undefined;
  const state = await child.state();
  const outcome = asText(contextValue(state, 'outcome'));
  const seen: Readonly<Record<string, unknown>> = {
    'stack.child.status': 'running',
    'stack.child.outcome': outcome,
    'stack.child.current_node': contextValue(state, 'current_node'),
    'stack.child.stages': historyOf(state).length,
  };
  const facts: ConditionFacts = {
    outcome,
    preferredLabel: asText(contextValue(state, 'preferred_label')),
    context: (key) => asText(seen[key] ?? contextValue(state, key)),
  };
  ctx.emit({ type: 'child-observed', stage: stage.parts.stage.id, ...seen });
  const { clauses = [] } = parseCondition(condition);
  if (condition !== '' && holds(clauses, facts)) return { status: 'success', why: `${condition} holds` };
  return isSteering ? steer(stage, handle, state) : undefined;
}

/** A model looks at the child, and tells it something, stops it, or leaves it alone. */
async function steer(stage: StageContext, handle: ChildHandle, state: StateView): Promise<Stopped | undefined> {
  const { ctx, parts, attributes } = stage;
  const prompt = [
    preambleOf(state, 'summary:high'),
    expand(attributes.text('prompt'), ctx.state, parts.params),
    'End your answer with one JSON object: {"outcome": "success"} to let it go on, with "message": "…" to tell it something, or {"outcome": "fail", "message": "why"} to stop it.',
  ].join('\n\n');
  const answer = await ctx.step('steer', modelStep(parts), (step) => askModel({ ...stage, step }, prompt));
  const { outcome, message } = reportIn(answer) ?? {};
  if (outcome === 'fail')
    return { status: 'fail', why: typeof message === 'string' ? message : 'its overseer stopped it' };
  if (typeof message === 'string' && message !== '') await handle.signal(steerSignal, message);
  return undefined;
}

function outcomeOf(stage: StageContext, result: ChildResult): StageOutcome {
  const { status, state, error } = result;
  if (status !== 'completed')
    return end('fail', 'failed', { failures: inside(stage, failuresIn(result)), failureReason: rootMessage(error) });
  const { status: outcome, failures, last_response: last } = state.outputs['outputs'] as PipelineResult;
  const response = newestAnswer(state)?.text;
  const told = inside(stage, failures as readonly StageFailure[]);
  return end(outcome, 'completed', { failures: told, ...(response !== undefined && { response }) }, last);
}

/** Failures in a child, by the name of the stage that runs it. */
function inside({ parts }: StageContext, failures: readonly StageFailure[]): readonly StageFailure[] {
  return failures.map((one) => ({ ...one, stage: `${parts.stage.id}/${one.stage}` }));
}

function end(
  status: 'success' | 'partial_success' | 'fail',
  child: string,
  more: Partial<StageOutcome>,
  response?: unknown,
): StageOutcome {
  const told = { 'stack.child.status': child, 'stack.child.outcome': status };
  return { ...more, status, contextUpdates: { ...told, ...(response !== undefined && { last_response: response }) } };
}
