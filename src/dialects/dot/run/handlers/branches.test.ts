/** Parallel stages: branches, policies, fan-in. */
import { expect, test } from 'vitest';
import { box, digraph, dotOptions, lintOf, runDot, seen } from '../../../../../test/dot-kit.ts';
import { restartedAfter } from '../../../../../test/dying-engine.ts';
import { createBench, resumeToRest } from '../../../../../test/engine-kit.ts';
import { readDot, type StageHandler } from '../../index.ts';

const fan = (more = '', branches = 'par -> a\npar -> b'): string =>
  digraph(
    `start -> par\n${branches}\na -> a2 -> join\nb -> join\njoin -> after -> exit\npar [shape=component${more}]\njoin [shape=tripleoctagon]\n${box('a', 'a2', 'b', 'after')}`,
  );

test('11.12.20 6.2.2 branches run once each, then the fan-in, then what follows', async () => {
  const { begun, context, history } = await runDot(fan(), {
    script: { b: [{ status: 'success', contextUpdates: { found: 'x' } }] },
  });
  expect(begun.toSorted()).toEqual(['a', 'a2', 'after', 'b']);
  expect(history).toEqual(['start', 'par', 'join', 'after']);
  expect(context['parallel.results']).toEqual([
    { id: 'a', outcome: 'success', context: {} },
    { id: 'b', outcome: 'success', context: { found: 'x' } },
  ]);
  expect(context).toMatchObject({ 'parallel.fan_in.best_id': 'a', 'parallel.fan_in.best_outcome': 'success' });
  expect(context).not.toHaveProperty('found');
});

test('11.6.6 a failed branch makes the parallel stage a partial success, and the fan-in takes the best', async () => {
  const { context, history, output } = await runDot(fan(), { script: { a: ['fail'] } });
  expect(history).toEqual(['start', 'par: partial_success', 'join', 'after']);
  expect(context['parallel.results']).toMatchObject([
    { id: 'a', outcome: 'fail', failure_reason: 'a said fail' },
    { id: 'b', outcome: 'success' },
  ]);
  expect(context['parallel.fan_in.best_id']).toBe('b');
  expect(output).toMatchObject({
    status: 'partial_success',
    failures: [{ stage: 'a', reason: 'a said fail', led_to: null }],
  });
});

test('6.1.18 where all branches fail, the fan-in fails with their reasons', async () => {
  const { result } = await runDot(fan(), { script: { a: ['fail'], b: ['fail'] } });
  expect(result.status).toBe('failed');
  expect(result.error?.message).toContain('all branches failed: a: a said fail; b: b said fail');
});

test.each([
  ['join_policy=first_success', ['fail', 'success'], 'success'],
  ['join_policy=quorum', ['success', 'fail'], 'fail'],
  ['join_policy="2_of_n"', ['success', 'success'], 'success'],
  ['join_policy="1_of_n"', ['fail', 'success'], 'success'],
  ['error_policy=continue', ['fail', 'success'], 'partial_success'],
  ['error_policy=fail_fast', ['fail', 'success'], 'fail'],
  ['error_policy=ignore', ['fail', 'success'], 'success'],
])('DOT5 %s with branches that end as %j ends as %s', async (policy, [a = '', b = ''], outcome) => {
  const { result } = await runDot(fan(`, max_parallel=1, ${policy}`), { script: { a: [a], b: [b] } });
  expect(result.state.outputs['par']).toMatchObject({ outcome });
});

test('DOT5 a quorum is a success beside a branch that failed', async () => {
  const text = fan(', max_parallel=1, join_policy=quorum').replace('par ->', 'par -> c -> join\nc [prompt=x]\npar ->');
  const { result } = await runDot(text, { script: { a: ['fail'], c: ['success'] } });
  expect(result.state.outputs['par']).toMatchObject({ outcome: 'success' });
});

test.each([
  [1, []],
  [2, ['b', 'after']],
])('DOT5 with max_parallel=%i a branch that waits for an answer lets %j go before it', async (atOnce, before) => {
  const text = fan(`, max_parallel=${atOnce}, join_policy=first_success`).replace(
    'a [prompt',
    'a [shape=hexagon, prompt',
  );
  const { engine, begun, result, workflow } = await runDot(text);
  expect(begun).toEqual(before);
  if (before.length > 0) return;
  await engine.answer(result.runId, result.waits[0]?.waitId ?? '', 'a2');
  const done = await resumeToRest(engine, result.runId, workflow.graph);
  expect([done.status, begun]).toEqual(['completed', ['a2', 'after']]);
});

test('DOT5 once the policy is decided the other branches are cancelled and begin nothing more', async () => {
  const started: string[] = [];
  const slow: StageHandler = {
    effect: 'external',
    isIdempotent: () => true,
    run: async ({ parts: { stage }, step }) => {
      started.push(stage.id);
      if (stage.id !== 'a') return { status: 'success' };
      await new Promise((resolve) => step?.signal.addEventListener('abort', resolve));
      throw new Error('it was cancelled');
    },
  };
  const { context, result } = await runDot(fan(', join_policy=first_success'), { handlers: { codergen: slow } });
  expect(result.status).toBe('completed');
  expect(started).toEqual(['a', 'b', 'after']);
  expect(context['parallel.results']).toMatchObject([
    { id: 'a', outcome: 'skipped' },
    { id: 'b', outcome: 'success' },
  ]);
});

test('DOT5 a goal gate in a branch counts at the exit', async () => {
  const text = digraph(
    `start -> par\npar -> a -> join\npar -> b -> join\njoin -> exit\npar [shape=component]\njoin [shape=tripleoctagon]\na [prompt=x, goal_gate=true]\nb [prompt=x]`,
  );
  const { result } = await runDot(text, { script: { a: ['fail'] } });
  expect(result.error?.message).toContain('the goal gate a ended with fail');
});

const nested = (gate: string): string =>
  digraph(
    `start -> p -> q -> g -> j2 -> join -> exit\np -> b -> join\nq -> c -> j2\np [shape=component]\nq [shape=component]\nj2 [shape=tripleoctagon]\njoin [shape=tripleoctagon]\ng [prompt=x, goal_gate=true]\n${box('b', 'c')}${gate}`,
  );

test('DOT5 DOT14 a goal gate in a branch of a branch counts at the exit, where its parallel stage failed too', async () => {
  const inner = await runDot(nested(''), { script: { g: ['fail'] } });
  expect(inner.result.error?.message).toContain('the goal gate g ended with fail');
  // Neither inner branch succeeds, and no fan-in takes that.
  const box = nested('').replace('j2 [shape=tripleoctagon]', 'j2 [prompt=x]');
  const all = await runDot(box, { script: { g: ['fail'], c: ['fail'] } });
  expect(all.result.error?.message).toContain('the goal gate g ended with fail');
});

test.each(['', ', goal_gate=true'])(
  'DOT14 a goal gate in a branch that a later visit left out keeps how it ended (%s)',
  async (gate) => {
    const text = digraph(
      `start -> par\npar -> a -> join\npar -> b -> join\njoin -> par [condition="outcome=fail"]\njoin -> exit\npar [shape=component, max_parallel=1, join_policy=first_success]\njoin [shape=tripleoctagon]\nb [prompt=x, goal_gate=true]\na [prompt=x${gate}]`,
    );
    const { begun, result } = await runDot(text, { script: { a: ['fail', 'success'], b: ['fail'] } });
    expect(begun).toEqual(['a', 'b', 'a']);
    expect(result.error?.message).toContain('the goal gate b ended with fail');
  },
);

test('DOT15 what failed in a branch is told by the name of its stage, not of its branch', async () => {
  const { output } = await runDot(fan(), { script: { a2: ['fail'] } });
  expect(output).toMatchObject({ failures: [{ stage: 'a2', reason: 'a2 said fail', led_to: null }] });
});

test('DOT5 max_node_visits bounds the stages of branches too', async () => {
  const text = fan().replace('a -> a2', 'a -> a [condition="outcome=success"]\na -> a2');
  const { begun, context } = await runDot(text.replace('digraph p {', 'digraph p {\nmax_node_visits=3'));
  expect(begun.filter((id) => id === 'a')).toHaveLength(3);
  expect(context['parallel.results']).toMatchObject([{ id: 'a', outcome: 'fail' }, { id: 'b' }]);
});

test('DOT5 a parallel stage that leads to its fan-in alone is an error', () => {
  const text = digraph('start -> p\np -> j -> exit\np [shape=component]\nj [shape=tripleoctagon]');
  expect(lintOf(text)).toEqual(['error parallel_join 7:1']);
});

test('DOT5 a parallel stage inside a branch, and branches that join at a box, run as they are drawn', async () => {
  const text = digraph(`start -> p\np -> a -> q\nq -> c -> j2\nq -> d -> j2\nj2 -> end2\np -> b -> end2\nend2 -> exit
p [shape=component]\nq [shape=component]\nj2 [shape=tripleoctagon]\n${box('a', 'b', 'c', 'd', 'end2')}`);
  const { begun, history } = await runDot(text);
  expect(begun.toSorted()).toEqual(['a', 'b', 'c', 'd', 'end2']);
  expect(history).toEqual(['start', 'p', 'end2']);
});

/** The second branch ends first, and the first one right behind it: killed anywhere, both may be on record before either counted. */
function inTurns(): StageHandler {
  let ended = Promise.withResolvers<void>();
  return {
    effect: 'external',
    isIdempotent: () => true,
    run: async ({ parts: { stage } }) => {
      if (stage.id === 'b') ended.resolve();
      if (stage.id === 'a') {
        await ended.promise;
        ended = Promise.withResolvers<void>();
        ended.resolve();
      }
      return { status: 'success', contextUpdates: { by: stage.id } };
    },
  };
}

test('DOT5 X4.13 which branch was first is on record: killed at every commit, the same ones count', async () => {
  const text = fan(', join_policy=first_success').replace('a -> a2 -> join', 'a -> join').replace(/a2 .*/, '');
  const results = async (commits: number): Promise<unknown> => {
    const bench = createBench();
    const { graph } = readDot(text, dotOptions({ handlers: { codergen: inTurns() } }));
    const done = await restartedAfter(bench, commits, graph);
    return done && [done.status, seen(done).context['parallel.results']];
  };
  const quiet = await runDot(text, { handlers: { codergen: inTurns() } });
  const expected = ['completed', quiet.context['parallel.results']];
  expect(quiet.context['parallel.results']).toMatchObject([
    { id: 'a', outcome: 'skipped', context: {} },
    { id: 'b', outcome: 'success', context: { by: 'b' } },
  ]);
  let trials = 0;
  for (let commits = 1; commits < 30; commits += 1) {
    const found = await results(commits);
    if (found === undefined) break;
    trials += 1;
    expect([commits, found]).toEqual([commits, expected]);
  }
  expect(trials).toBeGreaterThan(3);
});
