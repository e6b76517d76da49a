/** Budgets under kills: at every write and call around questions about them, the answers count once, and the sums are the same. */
import { expect, test } from 'vitest';
import type { OpenQuestion } from '../../src/engine/api.ts';
import type { Graph } from '../../src/graph/graph.ts';
import type { NodeContext } from '../../src/graph/contracts/node-contract.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import type { CrashCase, CrashKitOptions, CrashProcess } from '../../src/testing/crash-kit/process-life.ts';
import { crashEverywhere, crashFree } from '../../src/testing/crash-kit/crash-everywhere.ts';
import { edges, graphOf, node } from '../engine-kit.ts';

/** A composed node and a plain one under the run's budget, a node under its own, and what the run had spent in the end. */
function spending(process: CrashProcess): Graph {
  const buy = (ctx: NodeContext, name: string): Promise<void> =>
    ctx.step(name, { effect: 'external', idempotent: true, retry: { attempts: 2, delayMs: 1 } }, async (step) => {
      step.spend({ usd: 0.1, calls: 1 });
      await process.sleep(1);
      if (name === 's2' && step.attempt === 1) throw new Error('once');
    });
  return graphOf(
    'g',
    [
      node('a', 'read', async (ctx) => {
        await buy(ctx, 's1');
        await buy(ctx, 's2');
        return buy(ctx, 's3').catch((error: { code: string }) => error.code);
      }),
      node('b', 'read', (ctx) => Promise.all(['x', 'y'].map((name) => buy(ctx, name))).then(() => 'b'), {
        budget: { calls: 0 },
      }),
      node('end', 'pure', (ctx) => ctx.spent, { join: 'all', atMost: 'nothing' }),
    ],
    edges('> b', 'b > a', 'a > end', 'end >'),
    { policies: { budget: { usd: 0.3 } } },
  );
}

/** The node's budget is raised once, the run's twice, and then it is enough. */
function answer({ budget }: OpenQuestion): unknown {
  if (budget === undefined) throw new Error('only budgets are asked about here');
  if (budget.unit === 'calls') return 5;
  return budget.limit < 0.5 ? 0.1 : 'fail';
}

test('Q5 a run killed at any point around its budgets spends and asks as if it had not been', async () => {
  const questions: string[] = [];
  const crashCase: CrashCase = {
    graph: spending,
    input: {},
    answer: (wait) => {
      questions.push(`${wait.budget?.of.join('/') ?? ''} ${wait.budget?.limit ?? ''}`);
      return answer(wait);
    },
  };
  const options: CrashKitOptions = { open: (now) => ({ store: createMemoryStore({ now }) }) };
  const { summary } = await crashFree(crashCase, options);
  expect([summary.status, questions]).toEqual(['completed', ['b 0', ' 0.3', ' 0.4', ' 0.5']]);
  // The last node's output is what the run had spent: it is compared with that of every trial.
  for (const text of ['"usd":0.5', '"calls":5', 'BUDGET_EXCEEDED']) expect(summary.state).toContain(text);
  const report = await crashEverywhere(crashCase, options);
  expect(report.faults).toEqual([]);
  expect(report.trials).toBeGreaterThan(20);
  expect(new Set(questions)).toEqual(new Set(['b 0', ' 0.3', ' 0.4', ' 0.5']));
});
