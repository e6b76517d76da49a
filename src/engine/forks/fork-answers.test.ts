/** Forks with other answers: which wait each is for (H2, W3). */
import { expect, test } from 'vitest';
import type { EffectClass } from '../../graph/contracts/node-contract.ts';
import type { Engine, ForkOptions, OpenQuestion } from '../api.ts';
import {
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
  type Bench,
} from '../../../test/engine-kit.ts';
import { loadState, readHistory } from '../../history/load/load.ts';
import { pruneRun } from '../../history/retention/prune.ts';

/** Asks two things of everybody at once, and says what was answered. */
const both = graphOf(
  'both',
  [
    node('ask', 'human', (ctx) =>
      Promise.all([
        ctx.ask({ name: 'title', prompt: 'Title?' }),
        ctx.ask({
          name: 'size',
          prompt: 'Size?',
          choices: [
            { value: 3, label: 'large' },
            { value: 1, label: 'small' },
          ],
        }),
      ]),
    ),
    node('say', 'pure', (ctx) => (ctx.state.outputs['ask'] as unknown[]).join(' ')),
  ],
  edges('> ask', 'ask > say', 'say >'),
);

async function runBoth(bench: Bench): Promise<{ readonly seq: number; readonly waits: readonly OpenQuestion[] }> {
  const paused = await runToRest(bench.engine, both, {}, 'r');
  const idOf = (name: string): string => paused.waits.find((wait) => wait.name === name)?.waitId ?? '';
  await bench.engine.answer('r', idOf('title'), 'Cairns');
  await resumeToRest(bench.engine, 'r', both);
  await bench.engine.answer('r', idOf('size'), 3);
  const { seq, state } = await resumeToRest(bench.engine, 'r', both);
  expect(state.outputs['say']).toBe('Cairns 3');
  return { seq, waits: paused.waits };
}

/** Where both are open. */
async function seqOfWaits({ store, options }: Bench): Promise<number> {
  for (let seq = 0; ; seq += 1) {
    const { root } = await loadState(
      store,
      options.blobs,
      (await store.readRun({ tenant: 'default', runId: 'r' }))!,
      seq,
    );
    if (Object.keys(root.waits).length === 2) return seq;
  }
}

async function said(engine: Engine, seq: number, options: ForkOptions): Promise<unknown> {
  const fork = await engine.fork({ runId: 'r', seq }, options);
  const { waits } = await resumeToRest(engine, fork.runId, both);
  // What was open at the fork point is open again: it is answered as before.
  for (const { waitId, name } of waits) await engine.answer(fork.runId, waitId, name === 'title' ? 'Cairns' : 3);
  return (await resumeToRest(engine, fork.runId, both)).state.outputs['say'];
}

test('H2 a fork is answered by the names of waits that resume takes: their own, their ids, and beginnings of these', async () => {
  const bench = createBench();
  const { seq, waits } = await runBoth(bench);
  const { engine } = bench;
  const { waitId } = waits.find(({ name }) => name === 'title')!;
  for (const name of ['title', waitId, waitId.slice(0, 8)])
    expect([name, await said(engine, seq, { answers: { [name]: 'Stones' } })]).toEqual([name, 'Stones 3']);
  expect(await said(engine, seq, { answers: { size: 1 } })).toBe('Cairns 1');
  expect(await said(engine, seq, { answers: { title: 'Stones', size: 1 } })).toBe('Stones 1');
});

test('H2 an answer that may be meant for several waits is refused, open or answered, and so is one for none', async () => {
  const bench = createBench();
  const { seq, waits } = await runBoth(bench);
  const { engine } = bench;
  const opened = await seqOfWaits(bench);
  for (const at of [opened, seq])
    await expect(engine.fork({ runId: 'r', seq: at }, { answers: { ask: 'Stones' } })).rejects.toMatchObject({
      code: 'USAGE_INVALID',
      message: expect.stringMatching(
        new RegExp(`several questions that fit ask: .*${waits[0]!.waitId}.*${waits[1]!.waitId}`),
      ) as string,
    });
  await expect(engine.fork({ runId: 'r', seq }, { answers: { ask2: 1 } })).rejects.toMatchObject({
    code: 'WAIT_NOT_FOUND',
    hint: expect.stringContaining('answer when it asks') as string,
  });
  await expect(engine.preview({ runId: 'r', seq }, { answers: { ask: 1 }, graph: both })).rejects.toMatchObject({
    code: 'USAGE_INVALID',
  });
});

test('H2 of a node that asks in each round the last round is meant', async () => {
  const { engine } = createBench();
  const rounds = graphOf(
    'rounds',
    [
      node('ask', 'human', (ctx) => ctx.ask({ prompt: `${ctx.visit}?` })),
      node('end', 'pure', (ctx) => ctx.state.outputs['ask']),
    ],
    [
      ...edges('> ask', 'end >'),
      { from: 'ask', to: 'ask', condition: { text: 'again', evaluate: ({ outcome }) => outcome.output === 'again' } },
      { from: 'ask', to: 'end', condition: { text: 'done', evaluate: ({ outcome }) => outcome.output !== 'again' } },
    ],
  );
  let standing = await runToRest(engine, rounds, {}, 'r');
  for (const answer of ['again', 'again', 'third']) {
    await engine.answer('r', standing.waits[0]!.waitId, answer);
    standing = await resumeToRest(engine, 'r', rounds);
  }
  expect(standing.state.outputs['end']).toBe('third');
  const fork = await engine.fork({ runId: 'r', seq: standing.seq }, { answers: { ask: 'other' } });
  expect((await resumeToRest(engine, fork.runId, rounds)).state.outputs['end']).toBe('other');
});

test('W3 what was typed is read in the light of the question, and who answers is recorded', async () => {
  const bench = createBench();
  const { seq } = await runBoth(bench);
  const { engine, store } = bench;
  const typed = { answers: { size: 'small', title: 'Stones' }, readsTexts: true, by: 'model' };
  const { runId } = await engine.fork({ runId: 'r', seq }, typed);
  expect((await resumeToRest(engine, runId, both)).state.outputs['say']).toBe('Stones 1');
  const stored: string[] = [];
  for await (const { checkpoint } of readHistory(store, await rowOf(bench, runId), { from: 0, to: seq }))
    stored.push(JSON.stringify(checkpoint.ops));
  expect(stored.join('\n')).toContain('"by":"model"');
  await expect(engine.fork({ runId: 'r', seq }, { answers: { size: 'small' } })).rejects.toMatchObject({
    code: 'ANSWER_INVALID',
  });
});

test('C8 a pruned history is forked with another answer by the name of its wait, too', async () => {
  const bench = createBench();
  const { seq } = await runBoth(bench);
  const { engine, store, options } = bench;
  const before = await rowOf(bench, 'r');
  const answers: number[] = [];
  for await (const { checkpoint } of readHistory(store, before, { from: 0, to: seq }))
    if (checkpoint.change.some(({ kind }) => kind === 'answer')) answers.push(checkpoint.seq);
  await store.tagCheckpoint(before, { name: 'asked', seq: answers.at(-1)! - 1 });
  const { claim } = await store.claimRun({ tenant: 'default', runId: 'r', workerId: 'pruner', leaseMs: 60_000 });
  const { removed } = await pruneRun(store, options.blobs, claim!, before);
  expect(removed).toBeGreaterThan(0);
  await store.releaseClaim(claim!);
  expect(await said(engine, seq, { answers: { size: 1 } })).toBe('Cairns 1');
});

test('H2 a fork whose answer was taken from its original is answered otherwise, and so is a fork of that', async () => {
  const bench = createBench();
  const { engine } = bench;
  const paid: unknown[] = [];
  const graph = graphOf(
    'g',
    [
      node('a', 'pure', () => 1),
      node('ask', 'human', (ctx) => ctx.ask({ name: 'really', prompt: 'Really?', choices: ['yes', 'no'] })),
      node(
        'pay',
        'external',
        (ctx) => (paid.push(ctx.state.outputs['ask']), `paid ${String(ctx.state.outputs['ask'])}`),
      ),
    ],
    edges('> a', 'a > ask', 'ask > pay', 'pay >'),
  );
  const paused = await runToRest(engine, graph, {}, 'r');
  const { waitId } = paused.waits[0]!;
  await engine.answer('r', waitId, 'yes');
  await resumeToRest(engine, 'r', graph);
  let from = 'r';
  for (const runId of ['first', 'second']) {
    await engine.fork({ runId: from, seq: 0 }, { runId });
    expect((await resumeToRest(engine, runId, graph)).state.outputs['pay']).toBe('paid yes');
    from = runId;
  }
  expect(paid).toEqual(['yes']);
  for (const name of ['ask', 'really', waitId]) {
    const { seq } = await engine.locate('second');
    await expect(engine.fork({ runId: 'second', seq }, { answers: { [name]: 'maybe' } })).rejects.toMatchObject({
      code: 'ANSWER_INVALID',
    });
    const options: ForkOptions = { answers: { [name]: 'no' } };
    const predicted = await engine.preview({ runId: 'second', seq }, { ...options, graph });
    const fork = await engine.fork({ runId: 'second', seq }, options);
    const done = await resumeToRest(engine, fork.runId, graph);
    expect([done.status, done.state.outputs['pay']]).toEqual(['completed', 'paid no']);
    expect(predicted.map(({ node: [id], prediction }) => `${id} ${prediction}`)).toEqual([
      'a restored',
      'ask runs again',
      'pay unknown',
    ]);
  }
  expect(paid).toEqual(['yes', 'no', 'no', 'no']);
  // The fork it was made from is as it was.
  expect((await engine.resume('second', { graph })).created).toBe(false);
  expect((await resumeToRest(engine, 'second', graph)).state.outputs['ask']).toBe('yes');
});

/** A run that asks `Really?` somewhere, and pays what was answered; forks of it, and of these, take the answer over. */
test.each<[string, EffectClass, boolean, string]>([
  ['a read node', 'read', false, 'ask runs again'],
  ['a read node, after a step of its own', 'read', true, 'ask runs again'],
  ['a node of a child run', 'human', false, 'parent runs again'],
  ['a node of a child run of a node that is taken as a whole', 'pure', false, 'parent runs again'],
])('H2 a fork that took the answer to %s from its original is answered otherwise', async (_, effect, hasStep, told) => {
  const bench = createBench();
  const { engine } = bench;
  const paid: unknown[] = [];
  const asking = node('ask', effect === 'read' ? 'read' : 'human', async (ctx) => {
    if (hasStep) await ctx.step('look', { effect: 'read' }, () => 'seen');
    return ctx.ask({ name: 'really', prompt: 'Really?', choices: ['yes', 'no'] });
  });
  const child = graphOf('child', [asking], edges('> ask', 'ask >'));
  const parent = node('parent', effect === 'pure' ? 'pure' : 'read', async (ctx) => {
    const { state } = await ctx.run(child, {}, { name: 'inner' });
    return state.outputs['ask'];
  });
  const first = effect === 'read' ? asking : parent;
  const pay = node('pay', 'external', (ctx) => {
    paid.push(ctx.state.outputs[first.id]);
    return `paid ${String(ctx.state.outputs[first.id])}`;
  });
  const graph = graphOf(
    'g',
    [node('a', 'pure', () => 1), first, pay],
    edges('> a', `a > ${first.id}`, `${first.id} > pay`, 'pay >'),
  );
  const paused = await runToRest(engine, graph, {}, 'r');
  const { waitId } = paused.waits[0]!;
  await engine.answer('r', waitId, 'yes');
  await resumeToRest(engine, 'r', graph);
  for (const [from, runId] of [
    ['r', 'first'],
    ['first', 'second'],
  ] as const) {
    await engine.fork({ runId: from, seq: 0 }, { runId });
    expect((await resumeToRest(engine, runId, graph)).state.outputs['pay']).toBe('paid yes');
  }
  expect(paid).toEqual(['yes']);
  for (const from of ['first', 'second']) {
    for (const name of ['ask', 'really', waitId]) {
      const { seq } = await engine.locate(from);
      const options: ForkOptions = { answers: { [name]: 'no' } };
      const predicted = await engine.preview({ runId: from, seq }, { ...options, graph });
      const fork = await engine.fork({ runId: from, seq }, options);
      const done = await resumeToRest(engine, fork.runId, graph);
      expect([from, name, done.status, done.state.outputs['pay'], done.waits]).toEqual([
        from,
        name,
        'completed',
        'paid no',
        [],
      ]);
      expect(predicted.map(({ node: path, prediction }) => `${path.join('/')} ${prediction}`)).toContain(told);
    }
  }
  expect(new Set(paid.slice(1))).toEqual(new Set(['no']));
  expect((await resumeToRest(engine, 'second', graph)).state.outputs[first.id]).toBe('yes');
});
