/** Pipelines of many stages, each of which may lead back to the one before it: as many loops in one another as there are stages (G11). */
import { expect, test } from 'vitest';
import { readDot, type StageHandler } from '../../src/dialects/dot/index.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { crashEverywhere } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { scale } from '../support/scale.ts';
import type { CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import { digraph, seen } from '../dot-kit.ts';
import { changesOf, createBench, resumeToRest, runToRest } from '../engine-kit.ts';

const stageCount = 300;
const stages = Array.from({ length: stageCount }, (_, index) => `s${index}`);
const text = digraph(
  [
    'start -> s0',
    ...stages.map((id) => `${id} [prompt=x]`),
    ...stages.map((id, index) => `${id} -> ${stages[index + 1] ?? 'exit'} [condition="outcome=success"]`),
    ...stages.slice(1).map((id, index) => `${id} -> ${stages[index]} [condition="outcome=fail"]`),
  ].join('\n'),
);

/** Every fiftieth stage leads back once. */
const failsAt = (stage: string, visit: number): boolean => visit === 1 && /[05]0$/.test(stage);
const expectedVisits = stageCount + 2 * stages.filter((id) => failsAt(id, 1)).length;

/** @param begun - told of each stage that is begun */
function graphOf(begun: (stage: string) => void, process?: CrashProcess): Graph {
  const codergen: StageHandler = {
    effect: 'external',
    isIdempotent: () => false,
    run: ({ ctx, parts: { stage }, step }) => {
      begun(stage.id);
      const fails = failsAt(stage.id, ctx.visit);
      const outcome = { status: fails ? 'fail' : 'success' } as const;
      process?.oracle.apply({
        key: step?.idempotencyKey ?? '',
        place: `visit ${ctx.visit} of ${stage.id}`,
        promise: 'once',
        output: outcome,
        fails,
      });
      return outcome;
    },
  };
  return readDot(text, { handlers: { codergen } }).graph;
}

test('G11 P1 P2 a pipeline of 300 stages that each lead back, killed on its way, ends as if it never was', async () => {
  const report = await crashEverywhere(
    { input: {}, graph: (process) => graphOf(() => undefined, process), inspect: () => expectedVisits },
    {
      open: (now) => ({ store: createMemoryStore({ now }) }),
      // All of them would be thousands of long runs: some along the way, of every kind.
      choose: (points) => points.filter((_, index) => index % scale(631, 211) === 0).map((point) => [point]),
    },
  );
  expect(report.trials).toBeGreaterThan(scale(2, 5));
  expect(report.faults).toEqual([]);
}, 120_000);

test('G11 a fork of such a pipeline goes on from its middle', async () => {
  const begun: string[] = [];
  const graph = graphOf((stage) => void begun.push(stage));
  const { engine } = createBench({ findGraph: async () => graph });
  const { runId, ...whole } = await runToRest(engine, graph);
  expect([whole.status, begun.length]).toEqual(['completed', expectedVisits]);
  const changes = await changesOf(engine, runId);
  const seq = changes.findIndex((change) => change.includes('settle s150'));
  const fork = await engine.fork({ runId, seq }, { graph });
  begun.length = 0;
  const ended = await resumeToRest(engine, fork.runId, graph);
  expect(seen(ended).history).toEqual(seen(whole).history);
  // What the original did behind that point is taken over, each visit of a stage by itself.
  expect(begun).toEqual([]);
  const taken = (await changesOf(engine, fork.runId))
    .slice(seq + 1)
    .join()
    .match(/replay s/g);
  expect(taken?.length).toBe(expectedVisits - 150 - 2 * 2 - 1);
});
