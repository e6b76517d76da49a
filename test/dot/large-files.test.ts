/** Large pipelines, as a hostile text may hold them: judged, and kept with their runs, in time and room that go with their size (DOT1). */
import { expect, test } from 'vitest';
import { checkDot } from '../../src/dialects/dot/index.ts';
import { explainChoice } from '../../src/dialects/explain-choice.ts';
import { postMortem } from '../../src/history/explain/post-mortem.ts';
import { digraph, dotOptions, runDot } from '../dot-kit.ts';
import { rowOf } from '../engine-kit.ts';
import { leastCpuRatio } from '../support/cpu-ratio.ts';

const lines = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join('\n');

/** Pipelines of any size, each with many of one thing. */
const growing: Readonly<Record<string, (size: number) => string>> = {
  'edges between two stages': (size) =>
    digraph(`start -> a\n${lines(size, (i) => `a -> exit [condition="context.x=${i}"]`)}`),
  'choices of a question': (size) =>
    digraph(`q [shape=hexagon]\nstart -> q\n${lines(size, (i) => `q -> exit [label="[K${i}] ${i}"]`)}`),
  'attributes that nobody knows': (size) =>
    digraph(`a [prompt=x, ${lines(size * 4, (i) => `labe${i}=1,`)}]\nstart -> a -> exit`),
  'stages in a row': (size) => digraph(`start -> ${lines(size, (i) => `s${i} -> `)} exit`),
  'loops, each with a way back to the first': (size) =>
    digraph(`start -> s0\n${lines(size, (i) => `s${i} -> s${i + 1} -> s${i}; s${i} -> s0`)}\ns${size} -> exit`),
  'branches that meet': (size) =>
    digraph(
      `p [shape=component]\nj [shape=tripleoctagon]\nstart -> p\n${lines(size, (i) => `p -> b${i} -> j`)}\nj -> exit`,
    ),
  'stages and styles by class': (size) =>
    digraph(
      `graph [model_stylesheet="${lines(size, (i) => `.c${i} { llm_model: m${i}; }`)}"]\nstart -> ${lines(size, (i) => `s${i} -> `)} exit\n${lines(size, (i) => `s${i} [class="c${i},c${i * 7}"]`)}`,
    ),
};

test.each(Object.entries(growing))(
  'DOT1 sixteen times the size costs nothing like its square: %s',
  async (_, make) => {
    expect(checkDot(make(100), dotOptions()).workflow).toBeDefined();
    const [small, large] = [make(125), make(2_000)];
    const check = (text: string) => () => checkDot(text, dotOptions());
    // Time in proportion gives 1, and the square 16.
    expect(await leastCpuRatio(check(large), check(small), { times: 16, bound: 5 })).toBeLessThan(5);
  },
  60_000,
);

test('DOT1 what a run keeps of a stage grows with its edges, not with their square', () => {
  const sizeOf = (edges: number): number =>
    JSON.stringify(checkDot(growing['edges between two stages']!(edges), dotOptions()).workflow?.graph.structure)
      .length;
  expect(sizeOf(2_000) / sizeOf(200)).toBeLessThan(12);
});

test('N13 a post-mortem explains the edges of a stage together, however many there are', async () => {
  const { bench, result } = await runDot(
    digraph(`start -> a\n${lines(40, (i) => `a -> exit [condition="context.x=${i}"]`)}\na -> exit`),
  );
  const run = await rowOf(bench, result.runId);
  let explained = 0;
  const story = await postMortem(
    {
      tenant: run.tenant,
      store: bench.store,
      blobs: bench.options.blobs,
      isWorkerDead: () => undefined,
      now: () => 0,
      explainChoice: async () => (text, scope, config) => {
        explained += 1;
        return explainChoice(text, scope, config);
      },
    },
    { run, seq: run.head },
  );
  const visits = story.entries.filter((entry) => entry.kind === 'visit');
  expect(
    visits.find(({ path }) => path.join() === 'a')?.edges.map(({ fired, condition }) => [fired, condition]),
  ).toEqual([...Array.from({ length: 40 }, (_, i) => [false, `context.x=${i}`]), [true, undefined]]);
  expect(explained).toBeLessThanOrEqual(visits.length);
});
