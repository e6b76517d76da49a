/** Runs a random pipeline in the product, and tells of the run what the interpreter tells. */
import { readDot, type StageHandler, type StageOutcome } from '../../../src/dialects/dot/index.ts';
import type { OpenQuestion, RunResult } from '../../../src/engine/api.ts';
import type { Graph } from '../../../src/graph/graph.ts';
import { driveRun } from '../../../src/testing/crash-kit/drive-run.ts';
import type { EffectOracle } from '../../../src/testing/crash-kit/effect-oracle.ts';
import { createBench } from '../../engine-kit.ts';
import { mixNumber } from '../../random-graph/mix-number.ts';
import { beginning, endAt, type PipelineEnd } from './interpret-plan.ts';
import { textOfPlan, type PipelinePlan, type StagePlan, type TaskEnd } from './pipeline-plan.ts';
import type { BranchResult } from './choose-way.ts';

/** What is told of a run. */
export interface PlanRun {
  readonly result?: PipelineEnd;
  /** Why the run failed. */
  readonly error?: string;
  readonly history: readonly string[];
  readonly results: readonly BranchResult[];
  readonly begun: readonly string[];
  /** By stage, the numbers that people drew there, in the order in which they were asked. */
  readonly picks: ReadonlyMap<string, readonly number[]>;
}

/** The graph of a plan. @param arrive - called for each attempt of a task, by its name */
export function graphOfPlan(plan: PipelinePlan, arrive: Arrive): Graph {
  const tasks = new Map(
    [plan, ...Object.values(plan.children)].flatMap(({ stages }) => stages.map((one) => [one.id, one])),
  );
  const codergen: StageHandler = {
    effect: 'external',
    isIdempotent: ({ id }) => isRepeatable(tasks.get(id)),
    run: ({ ctx, parts: { stage }, value, step }) => {
      const attempt = step?.attempt ?? 1;
      const end = endAt(tasks.get(stage.id)?.ends ?? [], ctx.visit, attempt);
      const path = (value('path') ?? value('graph.path') ?? '') as string;
      const restarts = Number(value('internal.restart_count') ?? 0);
      const told = outcomeOf(stage.id, end, path);
      arrive({
        key: step?.idempotencyKey ?? '',
        place: beginning(path, stage.id, restarts, ctx.visit, attempt),
        promise: isRepeatable(tasks.get(stage.id)) ? 'repeatable' : 'once',
        output: told ?? null,
        fails: !['success', 'partial_success', 'skipped'].includes(end.status),
      });
      if (told === undefined) throw new Error(`${stage.id} throws`);
      return told;
    },
  };
  const readFile = (path: string): string | undefined => {
    const child = plan.children[path];
    return child === undefined ? undefined : textOfPlan(child);
  };
  return readDot(textOfPlan(plan), { handlers: { codergen }, readFile }).graph;
}

type Arrive = EffectOracle['apply'];

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
  const graph = graphOfPlan(plan, ({ place }) => void begun.push(place));
  const bench = createBench({ findGraph: () => Promise.resolve(graph) });
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
          const stage = question.node.at(-1) ?? '';
          picks.set(stage, [...(picks.get(stage) ?? []), pickOf(question)]);
        }
        return answerPlan(question);
      },
    },
    findEffect: () => undefined,
    sleep: (delayMs) => bench.clock.sleep(delayMs),
    now: bench.clock.now,
  });
  return { ...told(result), begun, picks };
}

interface StoredFailure {
  readonly stage: string;
  readonly led_to: string | null;
}

function told({ status, state, error }: RunResult): Omit<PlanRun, 'begun' | 'picks'> {
  const history = (state.diagnostics['history'] ?? []) as readonly {
    readonly stage: string;
    readonly outcome: string;
  }[];
  const results = (state.scratch['parallel.results'] ?? []) as readonly {
    readonly id: string;
    readonly outcome: string;
    readonly context: { readonly path?: string };
  }[];
  const shared = {
    history: history.map(({ stage, outcome }) => `${stage} ${outcome}`),
    results: results.map(({ id, outcome, context }) => ({ id, outcome, path: context.path })),
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
