/** Edges that restart a pipeline. */
import { expect, test } from 'vitest';
import { box, digraph, runDot } from '../../../../../test/dot-kit.ts';
import type { StageHandler } from '../../index.ts';

const text = (attributes = ''): string =>
  digraph(
    `start -> a -> b\nb -> c [label=again, loop_restart=true]\nb -> exit [label=done]\nc -> b\n${box('a', 'b', 'c')}`,
    `graph [goal="the goal"${attributes}]`,
  );
const again = { status: 'success', preferredLabel: 'again', contextUpdates: { left: 'behind' } } as const;
const done = { status: 'success', preferredLabel: 'done' } as const;

test('DOT18 an edge restarts the pipeline at its target, with a fresh context but the goal and the parameters', async () => {
  const seen: unknown[] = [];
  const look: StageHandler = {
    effect: 'external',
    run: ({ value, parts: { stage } }) => {
      seen.push([stage.id, value('graph.goal'), value('left') ?? null, value('internal.restart_count')]);
      if (stage.id !== 'b') return { status: 'success' };
      return seen.length < 6 ? again : done;
    },
  };
  const { result, output } = await runDot(text(), { handlers: { codergen: look } });
  expect(result.status).toBe('completed');
  expect(seen).toEqual([
    ['a', 'the goal', null, 0],
    ['b', 'the goal', null, 0],
    ['c', 'the goal', null, 1],
    ['b', 'the goal', null, 1],
    ['c', 'the goal', null, 2],
    ['b', 'the goal', null, 2],
  ]);
  expect(output).toMatchObject({ status: 'success', restarts: 2 });
});

test('DOT18 restarts at a stage are bounded, and the run fails by name', async () => {
  const { begun, result } = await runDot(text(', max_restarts=2'), { script: { b: [again] } });
  expect(begun).toEqual(['a', 'b', 'c', 'b', 'c', 'b']);
  expect(result.status).toBe('failed');
  expect(result.error?.message).toContain('restarted at c 2 times');
});

test('DOT18 what failed before a restart is in the result, and a failed body fails the run with the reason of its stage', async () => {
  const failing = text().replace('c -> b', 'c -> b\na -> b [condition="outcome=fail"]');
  const { output } = await runDot(failing, { script: { a: ['fail'], b: [again, done] } });
  expect(output).toMatchObject({ status: 'partial_success', failures: [{ stage: 'a', led_to: 'b' }], restarts: 1 });
  const { result } = await runDot(text(), { script: { a: ['fail'] } });
  expect(result.error?.message).toContain('a said fail');
});

test('6.6 counters of visits and of jumps are those of one run of the body', async () => {
  const bounded = text().replace('b [prompt', 'b [max_visits=1, prompt');
  const { result } = await runDot(bounded, { script: { b: [again, again, done] } });
  expect(result.status).toBe('completed');
});
