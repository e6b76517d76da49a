/** Stages in doubt after a crash, in pipelines that other stages look at, and would stop (P2, X3.8). */
import { expect, test } from 'vitest';
import { digraph, dotOptions, seen } from '../../../../../test/dot-kit.ts';
import { killableEngine, settleDown } from '../../../../../test/dying-engine.ts';
import { afterCrash, createBench, resumeToRest, type Bench } from '../../../../../test/engine-kit.ts';
import { within } from '../../../../../test/support/awaited.ts';
import type { Graph } from '../../../../graph/graph.ts';
import { readDot, type StageHandler } from '../../index.ts';

interface Killed {
  readonly bench: Bench;
  readonly graph: Graph;
  /** The stages that began, in order. */
  readonly begun: readonly string[];
}

/** A pipeline that is killed while its stage `pay` is at work. `other` stages call models, which need an answer first. */
async function killedAtPay(text: string, files: Readonly<Record<string, string>> = {}): Promise<Killed> {
  const paying = Promise.withResolvers<void>();
  const begun: string[] = [];
  const stages: StageHandler = {
    effect: 'external',
    run: async ({ parts: { stage } }) => {
      begun.push(stage.id);
      if (stage.id === 'pay') {
        paying.resolve();
        await new Promise(() => {});
      }
      return { status: 'success' };
    },
  };
  const options = dotOptions({ handlers: { codergen: stages }, source: 'main.dot', readFile: (path) => files[path] });
  const { graph } = readDot(text, options);
  const bench = createBench();
  const { engine, kill } = killableEngine(bench);
  await engine.start(graph, {}, { runId: 'r' });
  await within('the stage begins', paying.promise);
  kill();
  await settleDown();
  return { bench, graph, begun };
}

test('P2 X3.8 DOT25 a child that waits for a word about a stage in doubt is neither stopped nor judged for that', async () => {
  const child = digraph('start -> pay -> exit\npay [prompt=x]');
  const text = digraph(
    'm [shape=house, stack.child_dotfile="k.dot", manager.poll_interval=1s, manager.max_cycles=6]\nundo [prompt=x]\nstart -> m -> exit\nm -> undo [condition="outcome=fail"]\nundo -> exit',
  );
  const { bench, graph, begun } = await killedAtPay(text, { 'k.dot': child });
  const startMs = bench.clock.timeMs;
  const paused = await resumeToRest(afterCrash(bench), 'r', graph);
  const doubts = paused.waits.filter(({ kind }) => kind === 'doubt');
  expect([paused.status, doubts.map(({ node }) => node), begun]).toEqual(['paused', [['m', 'child', 'pay']], ['pay']]);
  bench.clock.timeMs = startMs + 48 * 3_600_000;
  const later = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([later.status, begun]).toEqual(['paused', ['pay']]);
  await bench.engine.answer('r', doubts[0]?.waitId ?? '', 'happened');
  const done = await resumeToRest(afterCrash(bench), 'r', graph);
  expect([done.status, seen(done).context['stack.child.status'], begun]).toEqual(['completed', 'completed', ['pay']]);
});

test('P2 X3.8 DOT5 a branch that the others have decided against is asked about before the stage ends', async () => {
  const text = digraph(
    'fan [shape=component, join_policy=first_success]\nask [shape=hexagon, label="?"]\npay [prompt=x]\nafter [prompt=x]\njoin [shape=tripleoctagon]\nstart -> fan\nfan -> ask\nfan -> pay\nask -> join [label=yes]\npay -> join\njoin -> after -> exit',
  );
  const { bench, graph, begun } = await killedAtPay(text);
  const engine = afterCrash(bench);
  const [gate] = await engine.waits('r');
  await engine.answer('r', gate?.waitId ?? '', 'yes');
  const paused = await resumeToRest(engine, 'r', graph);
  expect([paused.status, paused.waits.map(({ kind, node }) => [kind, node]), begun]).toEqual([
    'paused',
    [['doubt', ['fan', 'pay', 'pay']]],
    ['pay'],
  ]);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'happened');
  const done = await resumeToRest(engine, 'r', graph);
  expect([done.status, begun]).toEqual(['completed', ['pay', 'after']]);
});
