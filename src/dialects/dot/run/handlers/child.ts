/** A stage that runs another pipeline as a child of this run, looks at it from time to time, and steers it or stops it. */
import type { ChildHandle, ChildResult, StateView } from '../../../../graph/contracts/node-contract.ts';
import type { TextWorkflow } from '../../../text-workflow.ts';
import { holds, parseCondition, type ConditionFacts } from '../../model/condition.ts';
import { askModel } from './codergen.ts';
import { asText, contextValue, expand, steerSignal } from '../context/context-keys.ts';
import type { PipelineResult } from './ends.ts';
import { rootMessage } from './parallel.ts';
import { newestAnswer } from '../prompt/newest-answer.ts';
import { historyOf } from '../prompt/ended-stages.ts';
import { preambleOf } from '../prompt/preamble.ts';
import { modelStep, type StageContext, type StageHandler } from '../stage/stage-parts.ts';
import { reportIn, type StageFailure, type StageOutcome } from '../stage/stage-outcome.ts';

const pollMsDefault = 45_000;
const cyclesMaxDefault = 1_000;

/** Begins a child that does not begin by itself. */
const startSignal = 'start';

export function childHandler(child: TextWorkflow): StageHandler {
  return { run: (stage) => runChild(stage, child) };
}

async function runChild(stage: StageContext, child: TextWorkflow): Promise<StageOutcome> {
  const { ctx, attributes } = stage;
  if (attributes.text('stack.child_autostart') === 'false') await ctx.receive(startSignal);
  const handle = await ctx.start(child.graph, inputFor(child, stage), { name: 'child' });
  const pollMs = attributes.durationMs('manager.poll_interval') ?? pollMsDefault;
  const cyclesMax = attributes.integer('manager.max_cycles') ?? cyclesMaxDefault;
  const ended = handle.result();
  for (let cycle = 1; cycle <= cyclesMax; cycle += 1) {
    const first = await Promise.race([ended, ctx.sleepUntil(ctx.now() + pollMs, 'poll').then(() => undefined)]);
    if (first !== undefined) return outcomeOf(stage, first);
    const stopped = await look(stage, handle);
    if (stopped === undefined) continue;
    await handle.cancel(stopped.why);
    return end(stopped.status, 'stopped', {
      notes: stopped.why,
      ...(stopped.status === 'fail' && { failureReason: stopped.why }),
    });
  }
  const failureReason = `${child.name} did not end within ${cyclesMax} cycles of ${pollMs / 1_000} s`;
  await handle.cancel(failureReason);
  return end('fail', 'stopped', { failureReason });
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

/** Why a child is stopped, and how its stage ends because of that. */
interface Stopped {
  readonly status: 'success' | 'fail';
  readonly why: string;
}

/** Looks at the child once. The result is undefined if the child goes on. */
async function look(stage: StageContext, handle: ChildHandle): Promise<Stopped | undefined> {
  const { ctx, attributes, value } = stage;
  const condition = attributes.text('manager.stop_condition');
  const isSteering = attributes.list('manager.actions').includes('steer') && attributes.text('prompt') !== '';
  if (condition === '' && !isSteering) return undefined;
  const state = await handle.state();
  const outcome = asText(state.scratch['outcome']);
  const seen: Readonly<Record<string, unknown>> = {
    'stack.child.status': 'running',
    'stack.child.outcome': outcome,
    'stack.child.current_node': state.scratch['current_node'],
    'stack.child.stages': historyOf(state).length,
  };
  const facts: ConditionFacts = {
    outcome,
    preferredLabel: asText(state.scratch['preferred_label']),
    context: (key) => asText(seen[key] ?? contextValue(state, key) ?? value(key)),
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

function outcomeOf({ parts }: StageContext, { status, state, error }: ChildResult): StageOutcome {
  if (status !== 'completed') return end('fail', 'failed', { failureReason: rootMessage(error) });
  const { status: outcome, failures, last_response: last } = state.outputs['outputs'] as PipelineResult;
  const { id } = parts.stage;
  const inner = (failures as readonly StageFailure[]).map((one) => ({ ...one, stage: `${id}/${one.stage}` }));
  const response = newestAnswer(state)?.text;
  return end(outcome, 'completed', { failures: inner, ...(response !== undefined && { response }) }, last);
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
