/** Parallel stages: branches, policies, fan-in. */
import { expect, test } from 'vitest';
import { box, digraph, runDot } from '../../../../test/dot-kit.ts';
import type { StageHandler } from '../index.ts';

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
  ['error_policy=fail_fast', ['fail', 'success'], 'fail'],
  ['error_policy=ignore', ['fail', 'success'], 'success'],
])('DOT5 %s with branches that end as %j ends as %s', async (policy, [a = '', b = ''], outcome) => {
  const { result } = await runDot(fan(`, max_parallel=1, ${policy}`), { script: { a: [a], b: [b] } });
  expect(result.state.outputs['par']).toMatchObject({ outcome });
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

test('DOT5 a parallel stage inside a branch, and branches that join at a box, run as they are drawn', async () => {
  const text = digraph(`start -> p\np -> a -> q\nq -> c -> j2\nq -> d -> j2\nj2 -> end2\np -> b -> end2\nend2 -> exit
p [shape=component]\nq [shape=component]\nj2 [shape=tripleoctagon]\n${box('a', 'b', 'c', 'd', 'end2')}`);
  const { begun, history } = await runDot(text);
  expect(begun.toSorted()).toEqual(['a', 'b', 'c', 'd', 'end2']);
  expect(history).toEqual(['start', 'p', 'end2']);
});
