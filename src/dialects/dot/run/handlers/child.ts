/** A stage that runs another pipeline as a child of this run, looks at it from time to time, and steers it or stops it. */
import {
  type ChildHandle,
  type StateView,
  NodeFailure,
  type ChildResult,
} from '../../../../graph/contracts/node-contract.ts';
import type { TextWorkflow } from '../../../text-workflow.ts';
import { failuresIn, type StageFailure, rootMessage, reportIn, type StageOutcome } from '../stage/stage-outcome.ts';
import { bodyName, type PipelineResult } from './ends.ts';
import { holds, parseCondition, type ConditionFacts } from '../../model/edge-condition.ts';
import { askModel } from './agent.ts';
import { asText, contextValue, expand, steerSignal } from '../context/context-reader.ts';
import { newestAnswer, historyOf, preambleOf } from '../prompt/preamble.ts';
import { modelStep, type StageContext, type StageHandler } from '../stage/attempts.ts';

// What a stage sees of the pipeline that it runs. One that restarts is in a run within that, which changes with each restart.

class SeenChild {
  readonly #handle: ChildHandle;
  /** The node that runs the stages of one that restarts; undefined of any other. */
  readonly #wrapper: string | undefined;
  /** How often it restarted, as far as was seen. */
  #restarts = 0;

  constructor({ graph }: TextWorkflow, handle: ChildHandle) {
    this.#handle = handle;
    this.#wrapper = graph.nodes.find(({ type }) => type === 'restarts')?.id;
  }

  /** The state of its stages now. */
  async state(): Promise<StateView> {
    return (await this.#newest()) ?? this.#handle.state();
  }

  /** What failed so far in all runs of one that restarts; undefined of any other. */
  async failures(): Promise<readonly StageFailure[] | undefined> {
    const newest = await this.#newest();
    if (newest === null) return undefined;
    const failures: StageFailure[] = [];
    for (let count = 0; count < this.#restarts; count += 1) {
      const state = await this.#after(count);
      if (state !== null) failures.push(...failuresIn({ status: 'completed', state }));
    }
    return [...failures, ...failuresIn({ status: 'cancelled', state: newest })];
  }

  async #newest(): Promise<StateView | null> {
    let newest = await this.#after(this.#restarts);
    while (newest !== null) {
      const next = await this.#after(this.#restarts + 1);
      if (next === null) break;
      this.#restarts += 1;
      newest = next;
    }
    return newest;
  }

  /** The run that it is in after so many restarts, or was. */
  async #after(restarts: number): Promise<StateView | null> {
    return this.#wrapper === undefined ? null : this.#handle.stateIn(this.#wrapper, bodyName(restarts));
  }
}

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
  // Read first: the state has nothing of runs within a child once it is cancelled.
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
 * own stays.
 */
function inputFor({ inputs }: TextWorkflow, { value }: StageContext): Readonly<Record<string, string>> {
  const values = inputs.flatMap(({ name, default: own }): [string, string][] => {
    const known = name === 'goal' && own !== '' ? undefined : (value(name) ?? value(`graph.${name}`));
    return known === undefined ? [] : [[name, asText(known)]];
  });
  return Object.fromEntries(values);
}

/** The parameters that the child needs and does not get. */
function missingOf({ inputs }: TextWorkflow, values: Readonly<Record<string, string>>): readonly string[] {
  return inputs.filter(({ name, isRequired }) => isRequired && values[name] === undefined).map(({ name }) => name);
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
  const failed = inside(stage, failures as readonly StageFailure[]);
  return end(outcome, 'completed', { failures: failed, ...(response !== undefined && { response }) }, last);
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
  const updates = { 'stack.child.status': child, 'stack.child.outcome': status };
  return {
    ...more,
    status,
    contextUpdates: { ...updates, ...(response !== undefined && { last_response: response }) },
  };
}
