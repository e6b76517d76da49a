/** The code of a random graph's nodes: functions of the state they read, that reach the outside through the process only. */
import type { Graph } from '../../src/graph/graph.ts';
import {
  type NodeContext,
  type NodeImplementation,
  type Outcome,
  type OutcomeParts,
  type StateView,
  type StepOptions,
  outcome,
  stepsOutput,
} from '../../src/graph/contracts/node-contract.ts';
import type { CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import { failsBefore, performEffect } from './random-effect.ts';
import type { EffectPlan, NodePlan, PartPlan } from './plan-random-graph.ts';
import { mixNumber } from './mix-number.ts';

/** What a node's functions know besides their context. */
export interface NodeSurroundings {
  readonly process: CrashProcess;
  /** Ids of the nodes that have surely settled when this one starts: what it may read without depending on the schedule. */
  readonly settledBefore: readonly string[];
  readonly childGraph: Graph | undefined;
  /** Targets a goto may name: ahead, and back. */
  readonly targets: readonly string[];
}

/** What the nodes of a random graph put out. */
export interface RandomOutput {
  readonly value: number;
  readonly visit: number;
}

/** A number made of what surely settled before: the same whatever the schedule. */
export function readSettled(state: StateView, settledBefore: readonly string[]): number {
  return mixNumber(...settledBefore.map((id) => outputText(state.outputs[id])));
}

/** The steps of a map stand in the order in which they were recorded, which depends on the schedule. */
export function outputText(output: unknown): string {
  if (!Array.isArray(output)) return JSON.stringify(output ?? null);
  return JSON.stringify(output.map((item) => JSON.stringify(item)).toSorted());
}

/** Names an activation whatever the engine calls it: children know by their input where they were started. */
function placeOf(ctx: NodeContext): string {
  const { trail } = ctx.input as { readonly trail: string };
  return `${trail}/${ctx.nodeId}#${ctx.visit}`;
}

/** The code of a node. */
export function implementNode(plan: NodePlan, surroundings: NodeSurroundings): NodeImplementation {
  const run = (ctx: NodeContext): unknown => {
    const place = placeOf(ctx);
    const seed = mixNumber(place, readSettled(ctx.state, surroundings.settledBefore));
    if (plan.kind === 'map') return runMap(plan, surroundings, ctx, place, seed);
    if (plan.kind === 'composed') return runComposed(plan, surroundings, ctx, place, seed);
    const call = { place, key: ctx.idempotencyKey, attempt: ctx.attempt };
    const output: RandomOutput = { value: seed, visit: ctx.visit };
    const done = performEffect(surroundings.process, plan.effect, call, output);
    return done instanceof Promise
      ? done.then((value) => conclude(plan, surroundings, place, value))
      : conclude(plan, surroundings, place, done);
  };
  if (plan.effect.recovery !== 'reconcile') return { run, codeText: '' };
  return {
    run,
    codeText: '',
    reconcile: ({ idempotencyKey }) => surroundings.process.oracle.reconcile(idempotencyKey),
  };
}

/**
 * The outcome of an activation: its output, and updates that do not depend on the schedule once lists are sorted.
 * An effect that may be found to have happened gives its output only: nobody could say later what else it gave.
 */
function conclude(
  plan: NodePlan,
  { targets }: NodeSurroundings,
  place: string,
  output: RandomOutput,
): Outcome | RandomOutput {
  const { effect, recovery } = plan.effect;
  if (plan.kind === 'plain' && (effect === 'write' || effect === 'external') && recovery !== 'idempotent')
    return output;
  const parts = updatesOf(plan, place, output.value);
  if (!plan.hasGoto || targets.length === 0) return outcome({ ...parts, output });
  const chosen = targets.filter((_, index) => (output.value >> index) % 2 === 0);
  return outcome({ ...parts, output, goto: chosen });
}

function updatesOf(plan: NodePlan, place: string, value: number): OutcomeParts {
  const shared: Readonly<Record<string, unknown>> = {
    total: value,
    seen: [value % 7],
    top: value,
    low: value,
    mean: value,
    word: 'x'.repeat(value % 11),
    bag: { [place]: { value } },
    ring: value,
  };
  return {
    scratch: {
      trace: [{ place, value }],
      ...(plan.channel === undefined ? {} : { [plan.channel]: shared[plan.channel] }),
    },
    artifacts: { [`own_${plan.id}`]: { place, value } },
  };
}

function stepOptions(process: CrashProcess, { effect, recovery, attempts }: EffectPlan, input: unknown): StepOptions {
  return {
    effect,
    input,
    ...(attempts > 1 ? { retry: { attempts, delayMs: 10, backoff: 'fixed' as const } } : {}),
    ...(recovery === 'idempotent' ? { idempotent: true } : {}),
    ...(recovery === 'reconcile'
      ? { reconcile: ({ idempotencyKey }) => process.oracle.reconcile(idempotencyKey) }
      : {}),
  };
}

function callStep(
  process: CrashProcess,
  ctx: NodeContext,
  name: string,
  effect: EffectPlan,
  place: string,
  seed: number,
): Promise<number> {
  const value = mixNumber(place, seed);
  return ctx.step(name, stepOptions(process, effect, seed), (step) => {
    step.spend({ units: 1 + (value % 3) });
    return performEffect(process, effect, { place, key: step.idempotencyKey, attempt: step.attempt }, value);
  });
}

async function runMap(
  plan: NodePlan,
  surroundings: NodeSurroundings,
  ctx: NodeContext,
  place: string,
  seed: number,
): Promise<unknown> {
  const { process } = surroundings;
  const effect: EffectPlan = {
    ...plan.effect,
    effect: mapEffects[seed % mapEffects.length] ?? 'pure',
    failsAfter: false,
    hangs: false,
    attempts: plan.effect.failures + 1,
  };
  const values = await Promise.all(
    plan.items.map((item) => callStep(process, ctx, item, effect, `${place}/${item}`, seed)),
  );
  return outcome({ ...updatesOf(plan, place, mixNumber(...values)), output: stepsOutput });
}

const mapEffects = ['pure', 'read', 'write', 'external'] as const;

/** What a composed node keeps when it saves: where to go on, and with what. */
interface Saved {
  readonly next: number;
  readonly value: number;
}

async function runComposed(
  plan: NodePlan,
  surroundings: NodeSurroundings,
  ctx: NodeContext,
  place: string,
  seed: number,
): Promise<unknown> {
  const { next, value: start } = ((ctx.retired ?? ctx.savedState) as Saved | undefined) ?? { next: 0, value: seed };
  let value = start;
  for (const [index, part] of plan.parts.entries()) {
    if (index < next) continue;
    if (part.kind === 'save') {
      const saved: Saved = { next: index + 1, value };
      await (index % 2 === 0 ? ctx.save(saved) : ctx.retire(saved));
    }
    if (part.kind !== 'save') {
      value = mixNumber(value, await runPart(part, surroundings, ctx, `${place}/${index}`, value));
      await ctx.append('values', [{ index, value }]);
      ctx.emit({ index, value }, { recorded: true });
    }
  }
  value = mixNumber(value, JSON.stringify(ctx.list('values')));
  if (plan.effect.attempts <= plan.effect.failures && failsBefore(plan.effect, ctx))
    throw new Error(`${place} fails at its end`);
  return conclude(plan, surroundings, place, { value, visit: ctx.visit });
}

async function runPart(
  part: Exclude<PartPlan, { kind: 'save' }>,
  surroundings: NodeSurroundings,
  ctx: NodeContext,
  place: string,
  value: number,
): Promise<string | number> {
  const { process, childGraph } = surroundings;
  switch (part.kind) {
    case 'step':
      return callStep(process, ctx, part.name, part.effect, place, value);
    case 'together': {
      const values = await Promise.all(
        part.steps.map(({ name, effect }) => callStep(process, ctx, name, effect, `${place}/${name}`, value)),
      );
      return mixNumber(...values);
    }
    case 'ask':
      return JSON.stringify(await ctx.ask(questionOf(part, place, ctx.now())));
    case 'asks': {
      const ask = (name: string): Promise<unknown> =>
        ctx.ask({ name, prompt: `${place} ${name}`, schema: { type: 'integer' } });
      return JSON.stringify(await Promise.all([ask('left'), ask('right')]));
    }
    case 'mixed': {
      const asked = ctx.ask({ name: 'beside', prompt: `${place} beside`, choices: ['yes', 'no'] });
      const stepped = callStep(process, ctx, 'beside step', part.effect, `${place}/beside`, value);
      return JSON.stringify(await Promise.all([runChild(ctx, childGraph as Graph, place), asked, stepped]));
    }
    case 'peek':
      return peek(ctx);
    case 'sleep':
      await ctx.sleepUntil(ctx.now() + part.delayMs);
      return 'slept';
    case 'child':
      return runChild(ctx, childGraph as Graph, place);
    default:
      return JSON.stringify(await ctx.receive(`signal ${place}`));
  }
}

/** Every other child is spoken to through its handle: told something that it does not ask for, looked at, and waited for. */
async function runChild(ctx: NodeContext, graph: Graph, place: string): Promise<string> {
  const child = await ctx.start(graph, { trail: place });
  if (mixNumber(place) % 2 === 0) {
    await child.signal('nobody listens', place);
    await child.state();
  }
  const { status, state } = await child.result();
  const outputs = Object.entries(state.outputs).map(([id, output]) => `${id}=${outputText(output)}`);
  return `${status} ${outputs.toSorted().join()}`;
}

/** What it sees depends on the schedule, so only that it stays the same may show. */
async function peek(ctx: NodeContext): Promise<string> {
  const look = (): string => JSON.stringify([sorted(ctx.state.scratch), sorted(ctx.state.artifacts)]);
  const seen = await ctx.step('peek', {}, look);
  return seen === look() ? 'the same' : 'another state';
}

function sorted(channels: Readonly<Record<string, unknown>>): unknown {
  return Object.entries(channels).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function questionOf(
  part: Extract<PartPlan, { kind: 'ask' }>,
  place: string,
  nowMs: number,
): Parameters<NodeContext['ask']>[0] {
  const { name, style } = part;
  if (style === 'choice') return { name, prompt: place, choices: ['yes', 'no', 'perhaps'] };
  // Nobody answers this one: its deadline does.
  if (style === 'late')
    return { name, prompt: `late ${place}`, deadlineAt: nowMs + 40, defaultAnswer: mixNumber(place) };
  return { name, prompt: place, schema: { type: 'integer', minimum: 0 } };
}
