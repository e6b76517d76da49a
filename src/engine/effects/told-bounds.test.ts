/** The most that a step spends, told by a function, and bounds in units that nobody spends. */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node, runToRest } from '../../../test/engine-kit.ts';
import type { Amounts } from '../../graph/amounts.ts';
import type { Graph, GraphPolicies, NodeDefinition } from '../../graph/graph.ts';

/** Steps that cost 3 usd each, and what they did. */
const costing = (
  done: string[],
  count: number,
  atMost: () => Amounts,
  policies: Partial<GraphPolicies> = {},
): Graph => {
  const pay = node('a', 'read', async (ctx) => {
    for (let index = 1; index <= count; index += 1)
      await ctx.step(`s${index}`, { atMost }, (step) => {
        done.push(`s${index}`);
        step.spend({ usd: 3 });
      });
  });
  return graphOf('g', [pay], edges('> a', 'a >'), { policies });
};

test('Q4.2 a bound that a function tells is reserved alike; it is called only where there is a budget, and refused if it tells no amounts', async () => {
  const done: string[] = [];
  let asked = 0;
  const atMost = (): { readonly usd: number } => {
    asked += 1;
    return { usd: 4 };
  };
  const free = await runToRest(createBench().engine, costing(done, 3, atMost), {}, 'r');
  expect([free.status, free.spent, done.splice(0), asked]).toEqual(['completed', { usd: 9 }, ['s1', 's2', 's3'], 0]);
  const graph = costing(done, 3, atMost, { budget: { usd: 8 } });
  const paused = await runToRest(createBench().engine, graph, {}, 'r');
  expect([paused.status, paused.spent, done.splice(0), asked]).toEqual(['paused', { usd: 6 }, ['s1', 's2'], 3]);
  const wrong = costing(done, 1, () => ({ usd: -1 }), { budget: { usd: 8 } });
  const refused = await runToRest(createBench().engine, wrong, {}, 'r');
  expect([refused.status, done]).toEqual(['failed', []]);
  expect(refused.error).toMatchObject({ cause: { code: 'NODE_CALL_REFUSED' } });
  expect((refused.error?.cause as Error | undefined)?.message).toContain('atMost: usd is -1');
});

test('Q4.6 a misspelt unit is refused, of a graph, of a node, of an attempt and of a run', async () => {
  const fault = 'would bound nothing: the unit is called tokens';
  const bounded = (policies: Partial<GraphPolicies>, more: Partial<NodeDefinition> = {}): Graph =>
    graphOf('g', [node('a', 'pure', () => 1, more)], edges('> a', 'a >'), { policies });
  expect(() => bounded({ budget: { token: 2 } })).toThrow(fault);
  expect(() => bounded({}, { budget: { Tokens: 2 } })).toThrow(fault);
  expect(() => bounded({}, { atMost: { token: 2 } })).toThrow(fault);
  const start = createBench().engine.start(bounded({}), {}, { budget: { token: 2 } });
  await expect(start).rejects.toThrow(fault);
});
