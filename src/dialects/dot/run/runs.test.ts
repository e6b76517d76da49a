/** Runs of pipelines, by the numbers of the specification's definition of done. */
import { expect, test } from 'vitest';
import { digraph, runDot } from '../../../../test/dot-kit.ts';

test('11.12.7 a linear pipeline runs its stages in order and gives a result', async () => {
  const { result, history, output } = await runDot(digraph('start -> a -> b -> c -> exit\na [prompt=x]\nb [prompt=x]\nc [prompt=x]'));
  expect(result.status).toBe('completed');
  expect(history).toEqual(['start', 'a', 'b', 'c']);
  expect(output).toEqual({ status: 'success', gates: {}, failures: [] });
});
