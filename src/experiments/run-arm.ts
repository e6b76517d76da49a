/** Runs one arm on one item: a fork that cannot act, under an id that says what it is of, so that it is made and paid for once. */
import { CairnError, reasonOf } from '../errors.ts';
import type { Engine, Patch, ResumeOptions, RunResult } from '../engine/api.ts';
import type { StandIns } from '../engine/without-effects.ts';
import type { Amounts } from '../graph/amounts.ts';
import { hashValue } from '../graph/canonical.ts';
import type { Graph } from '../graph/graph.ts';
import { derivedRunId } from '../history/stored/run-ids.ts';
import type { Point } from './find-point.ts';

/** What an arm does otherwise, ready to be run. */
export interface ArmPlan {
  readonly name: string;
  readonly graph: Graph;
  readonly answers?: Readonly<Record<string, unknown>>;
  readonly set?: readonly Patch[];
  readonly resample?: boolean;
  readonly models?: Readonly<Record<string, string>>;
  readonly standIns?: StandIns;
}

/** What all arms of an experiment share. */
export interface ArmRules {
  readonly experiment: string;
  readonly reads?: 'live';
  readonly undeclared?: 'run';
  /** Whether its runs stay until they are removed by name. */
  readonly keep?: boolean;
}

/** How a fork of an item ended. */
export interface ArmEnd {
  readonly fork: string;
  readonly end: 'completed' | 'failed' | 'would act' | 'would read' | 'would ask' | 'not run';
  /** Why, and what it would have done, asked or read. */
  readonly because?: readonly string[];
  readonly spent: Amounts;
}

/** The id of an arm's fork of an item. */
function forkIdOf(experiment: string, arm: string, item: string, repeat: number): string {
  return derivedRunId('experiment', experiment, arm, String(repeat), hashValue([item]).slice(0, 16));
}

/** Whether an arm cannot be run on an item at all: its start is gone, or it is of another graph. */
const isUnfit = (error: unknown): boolean =>
  CairnError.is(
    error,
    'CHECKPOINT_PRUNED',
    'CHECKPOINT_NOT_FOUND',
    'RUN_NOT_FOUND',
    'CHECKPOINT_CORRUPT',
    'RUN_GRAPH_CHANGED',
  );

/** Makes the fork, or goes on with it. @returns how it ended, and its state if it is complete */
export async function runArm(
  engine: Engine,
  item: { readonly runId: string; readonly point: Point },
  arm: ArmPlan,
  { experiment, reads, undeclared, keep = false }: ArmRules,
  repeat: number,
): Promise<{ readonly end: ArmEnd; readonly result?: RunResult }> {
  const fork = forkIdOf(experiment, arm.name, item.runId, repeat);
  const { graph, answers, set, resample, models, standIns } = arm;
  const { seq, upTo } = item.point;
  try {
    await engine.fork(
      { runId: item.runId, seq },
      {
        runId: fork,
        origin: 'experiment',
        effects: 'refuse',
        rerunPure: true,
        graph,
        ...(reads && { reads }),
        ...(undeclared && { undeclared }),
        ...(upTo && { upTo }),
        ...(answers && { answers }),
        ...(set && { set }),
        ...(resample === true && { resample }),
        ...(models && { nodeModels: models }),
      },
    );
  } catch (error) {
    if (isUnfit(error)) return notRun(fork, error);
    // Made by whoever ran this before, or runs it too.
    if (!CairnError.is(error, 'RUN_EXISTS')) throw error;
  }
  if (keep) await keepRun(engine, fork);
  try {
    const result = await resultOf(engine, fork, { graph, retryFailed: false, ...(standIns && { standIns }) });
    return { end: endOf(fork, result), result };
  } catch (error) {
    if (isUnfit(error)) return notRun(fork, error);
    throw error;
  }
}

/** Tags a run, so that no cleanup removes it, nor what it is forked from. */
export async function keepRun({ ports: { store, tenant } }: Pick<Engine, 'ports'>, runId: string): Promise<void> {
  const run = await store.readRun({ tenant, runId });
  if (run !== undefined) await store.tagCheckpoint(run, { name: 'experiment', seq: run.head });
}

const notRun = (fork: string, error: unknown): { readonly end: ArmEnd } => ({
  end: { fork, end: 'not run', because: [reasonOf(error)], spent: {} },
});

/** How long to wait until a fork is looked at again that another process advances. */
const lookAgainMs = 200;

/** Advances the fork, or waits for the process that does. */
async function resultOf(engine: Engine, fork: string, options: ResumeOptions): Promise<RunResult> {
  for (;;) {
    try {
      return await (await engine.resume(fork, options)).result();
    } catch (error) {
      if (!CairnError.is(error, 'CLAIM_TAKEN')) throw error;
    }
    await new Promise<void>((resolve) => void engine.ports.clock.setTimer(lookAgainMs, resolve));
  }
}

function endOf(fork: string, { status, waits, error, spent }: RunResult): ArmEnd {
  if (status === 'completed') return { fork, end: 'completed', spent };
  if (status === 'failed') return { fork, end: 'failed', because: [reasonOf(error)], spent };
  const refused = waits.filter(({ kind }) => kind === 'refused');
  const acts = refused.filter(({ metadata }) => (metadata as { readonly effect?: unknown }).effect !== 'read');
  const describe = (of: RunResult['waits']): readonly string[] =>
    of.map(({ prompt = '', name, metadata }) => {
      const { input } = (metadata ?? {}) as { readonly input?: unknown };
      return `${prompt === '' ? name : prompt}${input === undefined ? '' : ` ${JSON.stringify(input)}`}`;
    });
  if (acts.length > 0) return { fork, end: 'would act', because: describe(acts), spent };
  if (refused.length > 0) return { fork, end: 'would read', because: describe(refused), spent };
  return { fork, end: 'would ask', because: describe(waits), spent };
}
