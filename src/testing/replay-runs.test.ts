/** Runs as tests: equal, different, and refused. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AgentGraph, END, START } from '../index.ts';
import { replay, replayMatchers } from './index.ts';

let paid: number[] = [];
const desk = (fee = 0, label = 'sum') =>
  new AgentGraph({ input: z.object({ amount: z.number() }) }, { id: 'desk' })
    .addNode('sum', ({ state }) => ({ [label]: state.input.amount + fee }), { effectClass: 'pure' })
    .addNode(
      'pay',
      (ctx) => {
        const input = Object.values(ctx.state.outputs.sum ?? {});
        return ctx.step('pay', { effect: 'external', input }, () => void paid.push(ctx.state.input.amount));
      },
      { effectClass: 'read' },
    )
    .addEdge(START, 'sum')
    .addEdge('sum', 'pay')
    .addEdge('pay', END);

async function fixture(amount: number): Promise<string> {
  const app = desk().compile();
  await app.invoke({ amount }, { runId: 'r' });
  const pieces: string[] = [];
  for await (const piece of app.history.export('r')) pieces.push(piece);
  await app.close();
  const file = join(mkdtempSync(join(tmpdir(), 'cairn-replay-')), 'desk.jsonl');
  writeFileSync(file, pieces.join(''));
  paid = [];
  return file;
}

test('X7 recorded runs that give the same under the code of a test are equal, and nothing acts', async () => {
  const files = [await fixture(10), await fixture(20)];
  const { runs, differences } = await replay(...files).with(desk().compile());
  expect([runs.length, differences, paid]).toEqual([2, [], []]);
});

test('X7 the first difference is told, and what would have been done', async () => {
  const file = await fixture(10);
  expect((await replay(file).with(desk(0, 'total').compile())).differences).toEqual([
    { file, verdict: 'different', because: ['sum.sum was 10, and is nothing'] },
  ]);
  expect((await replay(file).with(desk(5).compile())).differences).toEqual([
    { file, verdict: 'would act', because: ['would act: pay/pay [15]'] },
  ]);
  const standIns = { pay: () => null };
  const stood = await replay(file).with(desk(5).compile(), {
    standIns,
    output: ({ outputs }) => outputs['pay'] ?? null,
  });
  expect([stood.differences, paid]).toEqual([[], []]);
});

test('X7 a graph alone is replayed over the files of a folder, and the matcher tells the table with each difference', async () => {
  const file = await fixture(10);
  const { runs } = await replay(dirname(file)).with(desk());
  expect(runs).toEqual([{ file, verdict: 'equal', because: [] }]);
  const { pass, message } = replayMatchers.toReproduce(await replay(file).with(desk(5)));
  expect([pass, message()]).toEqual([false, `1 runs: 1 would act\n  ${file}: would act: would act: pay/pay [15]`]);
  expect(replayMatchers.toReproduce(await replay(file).with(desk())).pass).toBe(true);
  expect(replayMatchers.toReproduce({ runs: [], differences: [] }).pass).toBe(false);
});
