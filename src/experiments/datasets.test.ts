/** Datasets: what they hold, that their runs stay, and experiments over them. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { AgentGraph, createMemoryStore, END, START } from '../index.ts';
import { addToDataset, listDatasets, readDataset, removeDataset } from './datasets.ts';
import { readWait } from '../history/stored/wait-row.ts';
import { experiment, review, tableText } from './index.ts';

const desk = (factor = 2) =>
  new AgentGraph({ input: z.object({ amount: z.number() }) }, { id: 'desk' })
    .addNode('sum', ({ state }) => state.input.amount * factor, { effectClass: 'pure' })
    .addEdge(START, 'sum')
    .addEdge('sum', END);

async function recorded() {
  const app = desk().compile({ store: createMemoryStore() });
  for (const amount of [1, 2, 3]) await app.invoke({ amount }, { runId: `r${amount}` });
  return app;
}

const output = ({ outputs }: { readonly outputs: Readonly<Record<string, unknown>> }): unknown => outputs['sum'];

test('EX7 a dataset holds each item once, is in no list, and keeps its runs until it is removed', async () => {
  const app = await recorded();
  const { engine } = app;
  await addToDataset(engine, 'gold', { runs: ['r1', 'r2'], inputs: [] });
  const inputs = [{ input: { amount: 9 }, expected: 18 }];
  const changed = await addToDataset(engine, 'gold', { runs: ['r2', 'r3'], inputs: [...inputs, ...inputs] });
  expect([changed.runs, changed.inputs]).toEqual([['r1', 'r2', 'r3'], inputs]);
  expect((await listDatasets(engine.ports)).map(({ name }) => name)).toEqual(['gold']);
  const listed: string[] = [];
  for await (const { runId } of app.history.list()) listed.push(runId);
  expect(listed).toEqual(['r3', 'r2', 'r1']);
  await app.history.cleanUp({ ttl_seconds: 0 });
  expect((await readDataset(engine.ports, 'gold')).runs).toHaveLength(3);
  expect((await app.history.find('r1')).runId).toBe('r1');
  await removeDataset(engine.ports, 'gold');
  await expect(readDataset(engine.ports, 'gold')).rejects.toMatchObject({ code: 'DATASET_NOT_FOUND' });
  await app.history.cleanUp({ ttl_seconds: 0 });
  await expect(app.history.find('r1')).rejects.toMatchObject({ code: 'RUN_EXPIRED' });
});

test('EX7 an unknown run is added to no dataset', async () => {
  const { engine } = await recorded();
  const added = addToDataset(engine, 'gold', { runs: ['gone'], inputs: [] });
  await expect(added).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  expect(await listDatasets(engine.ports)).toEqual([]);
});

test('EX8 an input that runs anew is held against what is expected of it, by every arm', async () => {
  const app = await recorded();
  const inputs = [
    { input: { amount: 4 }, expected: 8 },
    { input: { amount: 5 }, expected: 15 },
    { input: { amount: 6 } },
  ];
  await addToDataset(app.engine, 'gold', { runs: ['r1'], inputs });
  const arms = { same: {}, triple: { graph: desk(3) } };
  const { rows, arms: found, baseline } = await experiment(app, { name: 'anew', dataset: 'gold', arms, output });
  expect(baseline).toEqual({ equal: 3, different: 1 });
  expect(rows.map(({ arms: { triple } }) => triple?.[0]?.verdict)).toEqual([
    'different',
    'regressed',
    'improved',
    'regressed',
  ]);
  expect(found['same']?.verdicts).toEqual({ equal: 3, different: 1 });
  const { removed } = await app.history.remove('cairn:experiment:anew', { withForks: true, forget: true });
  expect(removed).toHaveLength(1 + 4 * 3 + 3);
});

test('EX9 a person is asked of each pair which is better, without being told which is changed', async () => {
  const app = await recorded();
  const options = {
    name: 'reviewed',
    dataset: { runs: ['r1', 'r2', 'r3'] },
    arms: { triple: { graph: desk(3) }, same: {} },
    scorers: [review({ prompt: 'Which sum is right?' })],
    output,
  };
  const first = await experiment(app, options);
  expect([first.openReviews, first.arms['triple']?.verdicts]).toEqual([3, { different: 3 }]);
  const run = { tenant: app.engine.ports.tenant, runId: 'cairn:experiment:reviewed' };
  const waits = (await app.engine.ports.store.listWaits(run)).rows.map(readWait);
  expect(waits.map(({ prompt = '' }) => prompt.split('\n')[0])).toEqual(Array(3).fill('Which sum is right?'));
  expect(waits.some(({ prompt = '' }) => /triple|baseline|changed/.test(prompt))).toBe(false);
  // Whoever answers prefers the larger sum, which is the changed one.
  for (const { waitId, prompt = '' } of waits) {
    const [one, two] = [...prompt.matchAll(/^\d+$/gm)].map(([sum]) => Number(sum));
    await app.engine.answer(run.runId, waitId, (one ?? 0) > (two ?? 0) ? 'the first' : 'the second', { stays: true });
  }
  const last = await experiment(app, options);
  expect([last.openReviews, last.arms['triple']?.verdicts, last.arms['same']?.verdicts]).toEqual([
    undefined,
    { improved: 3 },
    { equal: 3 },
  ]);
  expect(tableText(last)).toContain('triple: 3 improved');
});
