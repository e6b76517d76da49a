/** Helpers for tests of pipelines: scripted stages, and running a pipeline's text until it ends or waits. */
import type { Engine, EngineOptions, RunResult } from '../src/engine/api.ts';
import { checkDot, readDot, type DotOptions, type StageHandler, type StageOutcome } from '../src/dialects/dot/index.ts';
import type { TextWorkflow } from '../src/dialects/text-workflow.ts';
import { shellBlock } from '../src/nodes/blocks/shell.ts';
import { afterCrash, createBench, resumeToRest, runToRest, type Bench } from './engine-kit.ts';

/** How a stage ends at each of its visits. The last entry holds for all later visits. A string is the status of the outcome. */
export type Script = Readonly<Record<string, readonly (string | StageOutcome | Error)[]>>;

/** The scripted stages, and the ids of those that began, in order. */
export interface Scripted {
  readonly handler: StageHandler;
  readonly begun: string[];
}

export function scripted(script: Script = {}): Scripted {
  const counts = new Map<string, number>();
  const begun: string[] = [];
  const run: StageHandler['run'] = ({ parts: { stage } }) => {
    const count = counts.get(stage.id) ?? 0;
    counts.set(stage.id, count + 1);
    begun.push(stage.id);
    const said = script[stage.id]?.[count] ?? script[stage.id]?.at(-1) ?? 'success';
    if (said instanceof Error) throw said;
    return typeof said === 'string'
      ? { status: said, ...(said !== 'success' && { failureReason: `${stage.id} said ${said}` }) }
      : said;
  };
  return { handler: { effect: 'external', isIdempotent: () => true, run }, begun };
}

export function dotOptions(more: Partial<DotOptions> = {}): DotOptions {
  return { nodeTypes: [shellBlock], source: 'p.dot', ...more };
}

export interface RanDot {
  readonly result: RunResult;
  readonly workflow: TextWorkflow;
  readonly engine: Engine;
  readonly bench: Bench;
  readonly begun: readonly string[];
  /** Stages in the order in which they ended, with their outcomes. */
  readonly history: readonly string[];
  readonly context: Readonly<Record<string, unknown>>;
  readonly output: unknown;
}

export interface DotRun {
  readonly script?: Script;
  readonly input?: unknown;
  readonly handlers?: Readonly<Record<string, StageHandler>>;
  readonly engine?: Partial<EngineOptions>;
  /** Whether stages call models instead of following the script. */
  readonly asksModels?: boolean;
}

/** Runs a pipeline until it ends or waits. */
export async function runDot(
  text: string,
  { script = {}, input = {}, handlers, engine: more, asksModels = false }: DotRun = {},
): Promise<RanDot> {
  const stages = scripted(script);
  const workflow = readDot(
    text,
    dotOptions({ handlers: { ...(!asksModels && { codergen: stages.handler }), ...handlers } }),
  );
  const bench = createBench({ findGraph: () => Promise.resolve(workflow.graph), ...more });
  const result = await runToRest(bench.engine, workflow.graph, input);
  return { ...seen(result), result, workflow, engine: bench.engine, bench, begun: stages.begun };
}

/** Where the process dies: during a visit of this stage, by default the first. */
export interface DeathIn {
  readonly stage: string;
  readonly visit?: number;
}

/** Runs a pipeline until a visit of a stage, kills the process there, and lets another process finish the run. The script covers both. */
export async function runDotCut(text: string, { stage, visit = 1 }: DeathIn, script: Script = {}): Promise<RanDot> {
  const stages = scripted(script);
  let visits = 0;
  const { promise: death, resolve: die } = Promise.withResolvers<void>();
  const hanging: StageHandler = {
    ...stages.handler,
    run: (context) => {
      if (context.parts.stage.id !== stage || (visits += 1) !== visit) return stages.handler.run(context);
      die();
      return new Promise(() => undefined);
    },
  };
  const first = readDot(text, dotOptions({ handlers: { codergen: hanging } }));
  const bench = createBench({ findGraph: () => Promise.resolve(first.graph) });
  const handle = await bench.engine.start(first.graph, {}, {});
  const { runId } = handle;
  const early = await Promise.race([death, handle.result()]);
  if (early !== undefined) throw new Error(`the run ended as ${early.status}, before visit ${visit} of ${stage}`);
  const workflow = readDot(text, dotOptions({ handlers: { codergen: stages.handler } }));
  const engine = afterCrash(bench);
  const result = await resumeToRest(engine, runId, workflow.graph);
  return { ...seen(result), result, workflow, engine, bench, begun: stages.begun };
}

/** The history, context and output in a run's state. */
export function seen({ state }: Pick<RunResult, 'state'>): Pick<RanDot, 'history' | 'context' | 'output'> {
  const told = (state.diagnostics['history'] ?? []) as readonly { readonly stage: string; readonly outcome: string }[];
  return {
    history: told.map(({ stage, outcome }) => (outcome === 'success' ? stage : `${stage}: ${outcome}`)),
    context: state.scratch,
    output: state.outputs['outputs'],
  };
}

/** A digraph with the given body, and with a start and an exit. */
export function digraph(body: string, attributes = ''): string {
  return `digraph p {\n${attributes}\nstart [shape=Mdiamond]\nexit [shape=Msquare]\n${body}\n}\n`;
}

/** The findings of the lint for a text, each as `severity rule place`. */
export function lintOf(text: string, more: Partial<DotOptions> = {}): readonly string[] {
  return checkDot(text, dotOptions(more)).violations.map(
    ({ rule, severity, place }) => `${severity} ${rule} ${place.replace('p.dot:', '')}`,
  );
}

/** Declares stages for a model, each with a prompt. */
export function box(...ids: readonly string[]): string {
  return ids.map((id) => `${id} [prompt="do ${id}"]`).join('\n');
}
