/** Runs a random pipeline in the product, and tells of the run what the interpreter tells. */
import { readDot, type StageHandler, type StageOutcome } from '../../../src/dialects/dot/index.ts';
import type { OpenQuestion, RunResult } from '../../../src/engine/api.ts';
import type { Graph } from '../../../src/graph/graph.ts';
import { driveRun, type EffectOracle } from '../../../src/testing/crash-kit/find-effect-faults.ts';
import { modelRequestOf } from '../../../src/dialects/dot/run/handlers/agent.ts';
import { textOf } from '../../../src/graph/contracts/model-messages.ts';
import { createScriptedModels } from '../../../src/models/scripted.ts';
import type { Models } from '../../../src/ports/model.ts';
import { createBench, type Bench } from '../../engine-kit.ts';
import { mixNumber } from '../../random-graph/mix-number.ts';
import { beginning, endAt } from './interpret-plan.ts';
import { lookAt, textOfPlan, type PipelinePlan, type StagePlan, type TaskEnd } from './pipeline-plan.ts';
import type { PipelineEnd } from './walk.ts';
import type { Context } from './choose-way.ts';

/** What is told of a run. */
export interface PlanRun {
  readonly result?: PipelineEnd;
  /** Why the run failed. */
  readonly error?: string;
  readonly history: readonly string[];
  readonly context: Omit<Context, 'shortfall'>;
  readonly begun: readonly string[];
  /** How long it took, in virtual milliseconds. */
  readonly tookMs: number;
  /** By stage, the numbers that people drew there, and models that look at a pipeline, in the order in which they were asked. */
  readonly picks: ReadonlyMap<string, readonly number[]>;
}

/** What the stages of a plan reach. */
export interface PlanWorld {
  /** Called for each attempt of a task, by its name. */
  readonly arrive: EffectOracle['apply'];
  /** Lets time pass within a task, until it is to stop. Without it tasks take none. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** The graph of a plan. */
export function graphOfPlan(plan: PipelinePlan, { arrive, sleep }: PlanWorld): Graph {
  const tasks = tasksOf(plan);
  const codergen: StageHandler = {
    effect: 'external',
    isIdempotent: ({ id }) => isRepeatable(tasks.get(id)),
    // As a stage for a model, it hears what is said to its pipeline.
    modelRequestOf: (stage) =>
      stage.parts.isSteered ? modelRequestOf(stage) : { earlier: [], prompt: '', thread: undefined },
    run: async ({ ctx, parts: { stage }, value, step, modelRequest }) => {
      const attempt = step?.attempt ?? 1;
      const end = endAt(tasks.get(stage.id)?.ends ?? [], ctx.visit, attempt);
      const path = (value('path') ?? value('graph.path') ?? '') as string;
      const restarts = Number(value('internal.restart_count') ?? 0);
      const told = outcomeOf(stage.id, end, path);
      const heard = modelRequest?.prompt.match(/(?<=^- )word \d+$/gm) ?? [];
      arrive({
        key: step?.idempotencyKey ?? '',
        place: beginning(path, { id: stage.id, restarts, visit: ctx.visit, attempt, heard }),
        promise: isRepeatable(tasks.get(stage.id)) ? 'repeatable' : 'once',
        output: told ?? null,
        fails: !['success', 'partial_success', 'skipped'].includes(end.status),
      });
      if (step !== undefined && end.takesMs !== undefined) await sleep?.(end.takesMs, step.signal);
      if (told === undefined) throw new Error(`${stage.id} throws`);
      return told;
    },
  };
  const pause: StageHandler = {
    run: async ({ ctx, attributes }) => {
      await ctx.sleepUntil(ctx.now() + (attributes.integer('pause_ms') ?? 0));
      return { status: 'success' };
    },
  };
  const readFile = (path: string): string | undefined => {
    const child = plan.children[path];
    return child === undefined ? undefined : textOfPlan(child);
  };
  return readDot(textOfPlan(plan), { handlers: { codergen, pause }, readFile }).graph;
}

function tasksOf(plan: PipelinePlan): ReadonlyMap<string, StagePlan> {
  return new Map([plan, ...Object.values(plan.children)].flatMap(({ stages }) => stages.map((one) => [one.id, one])));
}

/** Models that look at the pipelines of a plan. What they say hangs on the key of the call alone, so a crash does not change it. */
export function modelsOfPlan(
  plan: PipelinePlan,
  look: (stage: string, pick: number) => void = () => {},
  sleep?: PlanWorld['sleep'],
): Models {
  const tasks = tasksOf(plan);
  return createScriptedModels(async ({ messages, idempotencyKey, signal }) => {
    const [stage = ''] = /(?<=^Watch )\w+/m.exec(textOf(messages.at(-1)?.content as string)) ?? [];
    const pick = mixNumber(idempotencyKey);
    look(stage, pick);
    const { looksMs } = tasks.get(stage) ?? {};
    if (looksMs !== undefined) await sleep?.(looksMs, signal);
    const said = lookAt(pick);
    return said === undefined ? 'It goes well.' : JSON.stringify(said);
  });
}

/** Whether a task may be tried again, or ends as a failure: of such a one the person who is asked cannot know how it ended. */
function isRepeatable(stage: StagePlan | undefined): boolean {
  return stage?.ends?.some(({ status }) => !['success', 'partial_success', 'skipped'].includes(status)) ?? false;
}

function outcomeOf(id: string, { status, label, next, flag }: TaskEnd, path: string): StageOutcome | undefined {
  if (status === 'throws') return undefined;
  return {
    status,
    ...(label !== undefined && { preferredLabel: label }),
    ...(next !== undefined && { suggestedNextIds: [next] }),
    failureReason: `${id} says ${status}`,
    contextUpdates: { path: `${path} ${id}`, ...(flag !== undefined && { flag }) },
  };
}

/** The number that a person draws who is asked. It hangs on the question alone, so a crash does not change it. */
function pickOf({ waitId }: OpenQuestion): number {
  return mixNumber(waitId);
}

/** What a person answers; undefined: nobody does. */
export function answerPlan(question: OpenQuestion): unknown {
  const { choices = [], metadata } = question as {
    readonly choices?: readonly (string | { readonly value: string })[];
    readonly metadata?: { readonly form?: string };
  };
  const said = choices.map((choice) => (typeof choice === 'string' ? choice : choice.value));
  const values = metadata?.form === 'freeform' ? [...said, 'any text'] : said;
  return values[pickOf(question) % (values.length + (question.dueAt === undefined ? 0 : 1))];
}

export async function runPlan(plan: PipelinePlan): Promise<PlanRun> {
  const begun: string[] = [];
  const picks = new Map<string, number[]>();
  const seen = new Set<string>();
  const draw = (stage: string, pick: number): void => void picks.set(stage, [...(picks.get(stage) ?? []), pick]);
  const sleep = (ms: number, signal: AbortSignal): Promise<void> => sleepOn(bench.clock, ms, signal);
  const graph = graphOfPlan(plan, { arrive: ({ place }) => void begun.push(place), sleep });
  const models = modelsOfPlan(plan, draw, sleep);
  const limits = isHeardOutside(plan) ? { holdTimersMs: 0 } : {};
  const bench = createBench({ findGraph: () => Promise.resolve(graph), models, limits });
  const beganAt = bench.clock.now();
  const result = await driveRun({
    engine: bench.engine,
    graph,
    runId: 'r',
    input: {},
    isThere: () => Promise.resolve(false),
    users: {
      answer: (question) => {
        if (!seen.has(question.waitId)) {
          seen.add(question.waitId);
          draw(question.node.at(-1) ?? '', pickOf(question));
        }
        return answerPlan(question);
      },
    },
    findEffect: () => undefined,
    sleep: (delayMs) => bench.clock.sleep(delayMs),
    now: bench.clock.now,
  });
  return { ...told(result), begun, picks, tookMs: bench.clock.now() - beganAt };
}

/** Whether somebody is asked or has to begin a pipeline. That is done where the run rests, so it must wait for no timer before. */
function isHeardOutside(plan: PipelinePlan): boolean {
  return [...tasksOf(plan).values()].some(
    ({ kind, attributes }) => kind === 'human' || attributes['stack.child_autostart'] === false,
  );
}

/** Lets time pass within an effect. One that is told to stop fails at once. */
function sleepOn(clock: Bench['clock'], ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(ms, resolve);
    signal.addEventListener('abort', () => {
      cancel();
      reject(new Error('it was told to stop'));
    });
  });
}

interface StoredFailure {
  readonly stage: string;
  readonly led_to: string | null;
}

function told({ status, state, error }: RunResult): Omit<PlanRun, 'begun' | 'picks' | 'tookMs'> {
  const history = (state.diagnostics['history'] ?? []) as readonly {
    readonly stage: string;
    readonly outcome: string;
  }[];
  const results = (state.scratch['parallel.results'] ?? []) as readonly {
    readonly id: string;
    readonly outcome: string;
    readonly context: { readonly path?: string };
  }[];
  const text = (key: string): string => (state.scratch[key] ?? '') as string;
  const shared = {
    history: history.map(({ stage, outcome }) => `${stage} ${outcome}`),
    context: {
      outcome: text('outcome'),
      label: text('preferred_label'),
      flag: text('flag'),
      path: text('path'),
      results: results.map(({ id, outcome, context }) => ({ id, outcome, path: context.path })),
      childStatus: text('stack.child.status'),
      childOutcome: text('stack.child.outcome'),
    },
  };
  if (status !== 'completed') return { ...shared, error: errorText(error) };
  const result = state.outputs['outputs'] as PipelineEnd & { readonly failures: readonly StoredFailure[] };
  const { status: outcome, gates, failures, restarts } = result;
  return {
    ...shared,
    result: {
      status: outcome,
      gates,
      failures: failures.map(({ stage, led_to }) => ({ stage, led_to })),
      ...(restarts !== undefined && { restarts }),
    },
  };
}

/** The texts of an error and of what caused it. */
function errorText(error: unknown): string {
  const texts: string[] = [];
  for (let at = error; at instanceof Error; at = at.cause) texts.push(at.message);
  return texts.join(' | ');
}
