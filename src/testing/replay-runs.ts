/** Runs as tests: what recorded runs would give under the code of now, in forks that cannot act. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CairnError } from '../errors.ts';
import { createDefaultEngine } from '../app/default-engine.ts';
import type { Engine, EngineOptions } from '../engine/api.ts';
import { firstDifference } from '../experiments/first-difference.ts';
import { runArm, type ArmEnd } from '../experiments/run-arm.ts';
import type { StandIns } from '../engine/without-effects.ts';
import type { StateView } from '../graph/contracts/node-contract.ts';
import type { Graph } from '../graph/graph.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { graphOf, type GraphOrRunnable } from '../graph/runnable-graph.ts';

/** How runs are replayed. */
export interface ReplayOptions {
  /** What is compared. Default: all outputs. */
  readonly output?: (state: StateView) => unknown;
  /** Answers in place of the recorded ones, by the name or the node of their question. */
  readonly answers?: Readonly<Record<string, unknown>>;
  /** What stands in for what would be refused. */
  readonly standIns?: StandIns;
  /** `live`: reads that the record does not have are made. Default: they are refused. */
  readonly reads?: 'live';
  /** `run`: functions without a declared effect class run. Default: they are refused, and named. */
  readonly undeclared?: 'run';
  /** What models say where the record has no answer, if a graph alone is given: scripted ones. */
  readonly models?: EngineOptions['models'];
}

/** What became of a run. */
export interface ReplayedRun {
  /** The file that it is from. */
  readonly file: string;
  readonly verdict: 'equal' | 'different' | Exclude<ArmEnd['end'], 'completed'>;
  /** The first difference, or what it would have done, asked or read. */
  readonly because: readonly string[];
}

/** What became of all. */
export interface Replayed {
  readonly runs: readonly ReplayedRun[];
  /** Those that are not equal: `[]` is what a test expects. */
  readonly differences: readonly ReplayedRun[];
}

/** What `compile()` gives. */
interface ReplayApp {
  readonly graph: Graph;
  readonly engine: Engine;
}

/** Recorded runs, to be replayed. */
export interface Replay {
  /**
   * @param app - a graph; or what `compile()` gives, over a store that the test may fill: without one, in memory
   * @throws INPUT_INVALID, CONFIG_INVALID
   */
  with(app: GraphOrRunnable | ReplayApp, options?: ReplayOptions): Promise<Replayed>;
}

const optionKeys = [
  'output',
  'answers',
  'standIns',
  'reads',
  'undeclared',
  'models',
] as const satisfies readonly (keyof ReplayOptions)[];

/**
 * Replays recorded runs under the code of a test: `expect((await replay('fixtures/a.jsonl').with(app)).differences).toEqual([])`.
 * @param files - what `cairn export RUN FILE` wrote, one run each; or folders of such files, as `cairn dataset export NAME DIR` makes them
 */
export function replay(...files: readonly string[]): Replay {
  return {
    async with(app, options = {}) {
      refuseUnknownKeys('replay', options, optionKeys);
      const { engine, graph, isOwn } = openReplay(app, options);
      const all = (await Promise.all(files.map(filesOf))).flat();
      const runs: ReplayedRun[] = [];
      try {
        for (const [index, file] of all.entries()) runs.push(await replayFile({ engine, graph }, file, index, options));
      } finally {
        if (isOwn) await engine.close();
      }
      return { runs, differences: runs.filter(({ verdict }) => verdict !== 'equal') };
    },
  };
}

/** The engine to replay in: a graph alone gets one of its own, in memory. */
function openReplay(
  app: GraphOrRunnable | ReplayApp,
  { models }: ReplayOptions,
): ReplayApp & { readonly isOwn: boolean } {
  if ('engine' in app) return { graph: app.graph, engine: app.engine, isOwn: false };
  const graph = graphOf(app);
  if (graph === undefined)
    throw new CairnError('CONFIG_INVALID', { path: 'replay', reason: 'it needs a graph, or what builds one' });
  return { graph, engine: createDefaultEngine({ webhooks: false, ...(models && { models }) }), isOwn: true };
}

/** The files of a folder, or the file itself. */
async function filesOf(path: string): Promise<readonly string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => name.endsWith('.jsonl'));
  return names.toSorted().map((name) => join(path, name));
}

/** What became of all as text: how many came to which verdict, and of each that is not equal why. */
function replayText({ runs, differences }: Replayed): string {
  const counts = Map.groupBy(runs, ({ verdict }) => verdict);
  const words = [...counts].map(([verdict, { length }]) => `${length} ${verdict}`);
  const lines = differences.map(({ file, verdict, because }) => `  ${file}: ${[verdict, ...because].join(': ')}`);
  return [`${runs.length} runs: ${words.join(', ') || 'none'}`, ...lines].join('\n');
}

/** A matcher for `expect.extend(replayMatchers)`: `expect(await replay(…).with(graph)).toReproduce()` fails with the table and each difference. */
export const replayMatchers = {
  toReproduce(replayed: Replayed): { readonly pass: boolean; readonly message: () => string } {
    return {
      pass: replayed.runs.length > 0 && replayed.differences.length === 0,
      message: () => replayText(replayed),
    };
  },
} as const;

async function* whole(text: string): AsyncGenerator<string> {
  yield text;
}

async function replayFile(
  { graph, engine }: ReplayApp,
  file: string,
  index: number,
  { output = ({ outputs }) => outputs, answers, standIns, reads, undeclared }: ReplayOptions,
): Promise<ReplayedRun> {
  const { runId } = await engine.history.import(whole(await readFile(file, 'utf8')));
  const original = await engine.inspect(runId).catch((error: unknown) => {
    if (!CairnError.is(error, 'CONFIG_INVALID')) throw error;
    engine.know(graph);
    return engine.inspect(runId);
  });
  const arm = { name: `replay-${index}`, graph, ...(answers && { answers }), ...(standIns && { standIns }) };
  const rules = { experiment: 'replay', ...(reads && { reads }), ...(undeclared && { undeclared }) };
  const { end, result } = await runArm(engine, { runId, point: { seq: 0 } }, arm, rules, 0);
  if (end.end !== 'completed') return { file, verdict: end.end, because: end.because ?? [] };
  const [before, now] = [output(original.state), output(result?.state as StateView)];
  const difference = firstDifference(before, now, 200);
  return { file, verdict: difference === undefined ? 'equal' : 'different', because: difference ?? [] };
}
