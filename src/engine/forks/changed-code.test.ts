/** A fork that goes on under other code: what was computed by the old code is not taken over (X2). */
import { expect, test } from 'vitest';
import { dyingEngine, settleDown } from '../../../test/dying-engine.ts';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
  type Bench,
} from '../../../test/engine-kit.ts';
import type { Graph } from '../../graph/graph.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';

/** Pure work in a node and in a step, an effect, and a question between them; `code` is the text of the functions. */
function graphUnder(code: string, calls: string[]): Graph {
  const call = (name: string): string => (calls.push(name), name);
  const step = (ctx: NodeContext): unknown => ctx.step('s', { input: 1 }, () => call('step'));
  const coded = (run: (ctx: NodeContext) => unknown): object => ({ implementation: { run, codeText: code } });
  return graphOf(
    'g',
    [
      node(
        'p',
        'pure',
        () => 1,
        coded(() => call('p')),
      ),
      node('w', 'write', () => call('w')),
      node('c', 'read', () => 1, coded(step)),
      node('ask', 'human', (ctx) => ctx.ask({ prompt: '?' })),
      node(
        'q',
        'pure',
        () => 1,
        coded(() => call('q')),
      ),
    ],
    edges('> p', 'p > w', 'w > c', 'c > ask', 'ask > q', 'q >'),
  );
}

/** A run `r` that has completed under the old code; what forks of it call is gathered. */
async function original(): Promise<{
  readonly bench: Bench;
  readonly calls: string[];
  readonly under: (code: string) => Graph;
}> {
  const bench = createBench();
  const calls: string[] = [];
  const under = (code: string): Graph => graphUnder(code, calls);
  const { waits } = await runToRest(bench.engine, under('old'), {}, 'r');
  await bench.engine.answer('r', waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(bench.engine, 'r', under('old'))).status).toBe('completed');
  expect(calls.splice(0)).toEqual(['p', 'w', 'step', 'q']);
  return { bench, calls, under };
}

test('X2 a fork that is resumed under the same code reuses pure outcomes; under other code it runs them again, and no effect', async () => {
  const { bench, calls, under } = await original();
  for (const [code, expected] of [
    ['old', []],
    ['new', ['p', 'step', 'q']],
  ] as const) {
    const fork = await bench.engine.fork({ runId: 'r', seq: 0 });
    const rows = await bench.engine.preview({ runId: fork.runId, seq: fork.seq }, { graph: under(code) });
    const isReused = rows.find(({ node: [id] }) => id === 'p')?.prediction === 'reused';
    expect(isReused).toBe(code === 'old');
    expect((await resumeToRest(bench.engine, fork.runId, under(code))).status).toBe('completed');
    expect(calls.splice(0)).toEqual(expected);
  }
});

test('X2 P1 a fork that is killed anywhere under other code still reuses nothing of the old code', async () => {
  const { bench, calls, under } = await original();
  const { head } = await rowOf(bench, 'r');
  expect(head).toBeGreaterThan(5);
  for (let commits = 0; commits <= head; commits += 1) {
    const { runId } = await bench.engine.fork({ runId: 'r', seq: 0 });
    await dyingEngine(bench, commits).resume(runId, { graph: under('new') });
    await settleDown();
    expect((await resumeToRest(afterCrash(bench), runId, under('new'))).status).toBe('completed');
    expect([commits, new Set(calls.splice(0))]).toEqual([commits, new Set(['p', 'step', 'q'])]);
  }
});
