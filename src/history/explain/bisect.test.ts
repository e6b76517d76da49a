/** Bisect over histories written by hand, against a model that asks at every checkpoint. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeOps, ModelHistory, type ModelOp } from '../../../test/history/model-history.ts';
import { compileQuestion } from '../../graph/expression/expression.ts';
import { createStoredError } from '../../state/values/stored-error.ts';
import { loadState } from '../load/load.ts';
import { viewState } from '../read/checkpoint-view.ts';
import { pruneRun } from '../retention/prune.ts';
import { bisect, type Bisection } from './bisect.ts';
import type { RunRow } from '../../ports/store.ts';

const scratch = (...path: readonly string[]): readonly string[] => ['frame', 'channels', 'scratch', ...path];
const find = (history: ModelHistory, row: RunRow, when: string, seq = row.head): Promise<Bisection> =>
  bisect(history, { run: row, seq }, when);

test('N11 the first checkpoint at which a condition holds; it is asked only where a delta touches what it reads', async () => {
  const history = new ModelHistory();
  const run = await history.start('first');
  for (let count = 1; count <= 6; count++)
    await run.commit([['s', count % 2 === 0 ? scratch('count') : scratch('other'), count]]);
  const error = createStoredError({ name: 'CairnError', message: 'no money', code: 'X', data: { owed: 3 } });
  await run.commitJson(encodeOps([['s', ['frame', 'nodes', 'pay'], { status: 'failed', error, fired: [] }]]));
  await run.commitJson(encodeOps([['s', ['status'], 'failed']]));
  const row = await run.row();
  expect(await find(history, row, 'scratch.count >= 4')).toMatchObject({
    runId: 'first',
    seq: 8,
    when: 'scratch.count >= 4',
    found: { runId: 'first', seq: 4, at: 1_004, checkpointId: `${run.key}.4` },
    read: 5,
    evaluated: 3,
  });
  for (const when of [
    "failures.pay.code == 'X'",
    "failures.pay == { 'name': 'CairnError', 'message': 'no money', 'code': 'X', 'data': { 'owed': 3 } }",
    'has(failures.pay)',
    "'pay' in failures",
    'failures.size() > 0',
    "failures.exists(node, failures[node].name == 'CairnError')",
  ])
    expect(await find(history, row, when)).toMatchObject({ found: { seq: 7 } });
  expect((await find(history, row, "status == 'failed'")).found?.seq).toBe(8);
  expect((await find(history, row, 'has(scratch.other)')).found?.seq).toBe(1);
  expect((await find(history, row, 'true')).found?.seq).toBe(0);
  const never = await find(history, row, 'scratch.count == 4', 3);
  expect([never.found, never.seq, never.read]).toEqual([undefined, 3, 4]);
  const odd = await find(history, row, "scratch.count + 'x' == 'y'");
  expect(odd.unanswered).toMatchObject({ seq: 2, count: 3 });
  expect(odd.unanswered?.reason).toContain('no such overload');
});

test('N11 a value of which conditions know nothing does not keep those around it from being asked for', async () => {
  const history = new ModelHistory();
  const run = await history.start();
  await run.commit([['s', scratch('gone'), undefined]]);
  await run.commit([['s', scratch('error'), new Error('lost')]]);
  await run.commit([['s', scratch('items'), [undefined, 1]]]);
  const row = await run.row();
  for (const [when, seq] of [
    ['scratch.size() == 1', 1],
    ['scratch.size() == 2', 2],
    ['1 in scratch.items', 3],
    ['has(scratch.gone)', undefined],
  ] as const) {
    const { found, unanswered } = await find(history, row, when);
    expect([when, found?.seq, unanswered]).toEqual([when, seq, undefined]);
  }
});

test('N11 what is wrong with the condition is told with its place, before anything is read', async () => {
  const history = new ModelHistory();
  const run = await history.start();
  const row = { ...(await run.row()), head: 99 };
  await expect(find(history, row, 'scratch.a ==')).rejects.toMatchObject({
    code: 'CONDITION_SYNTAX',
    data: { line: 1, column: 13 },
  });
  await expect(find(history, row, 'nothing == 1')).rejects.toMatchObject({ code: 'CONDITION_SYNTAX' });
  await expect(find(history, row, "'text'")).rejects.toMatchObject({ code: 'CONDITION_SYNTAX' });
});

test('N11 of a fork, the ancestors are looked through first', async () => {
  const history = new ModelHistory();
  const run = await history.start('first');
  await run.commit([['s', scratch('a'), 1]]);
  await run.commit([['s', scratch('a'), 2]]);
  const fork = await history.fork(run, 1, 'second', [['s', scratch('a'), 9]]);
  const row = await fork.row();
  expect((await find(history, row, 'scratch.a == 1')).found).toMatchObject({ runId: 'first', seq: 1 });
  expect((await find(history, row, 'scratch.a == 9')).found).toMatchObject({ runId: 'second', seq: 2 });
  expect((await find(history, row, 'scratch.a == 2')).found).toBeUndefined();
});

test('N11 where checkpoints were pruned, it is told that it may have held before', async () => {
  const history = new ModelHistory();
  const run = await history.start();
  for (const value of [1, 2, 3, 4, 5]) await run.commit([['s', scratch('a'), value]]);
  const { store, blobs } = history;
  await pruneRun(store, blobs, run.claim, await run.row(), { keepEvery: 4, keepLast: 1 });
  expect((await find(history, await run.row(), 'scratch.a >= 2')).found).toMatchObject({
    seq: 3,
    within: { after: 0, upTo: 3 },
  });
  await pruneRun(store, blobs, run.claim, await run.row(), { keepLast: 2 });
  const row = await run.row();
  expect((await find(history, row, 'scratch.a >= 2')).found).toMatchObject({ seq: 4, within: { upTo: 4 } });
  const exact = (await find(history, row, 'scratch.a >= 5')).found;
  expect([exact?.seq, exact?.within]).toEqual([5, undefined]);
});

const questions = [
  'scratch.a > 2',
  'scratch.a == scratch.b',
  'size(scratch.list) >= 3',
  'outputs.n == 4',
  'artifacts.named == 3',
  'has(outputs.m)',
  'outputs.all(k, outputs[k] != 2)',
  "'m' in failures",
] as const;
const number = fc.integer({ min: 0, max: 4 });
const anyOp: fc.Arbitrary<ModelOp> = fc.oneof(
  fc
    .record({ key: fc.constantFrom('a', 'b', 'c'), value: number })
    .map(({ key, value }): ModelOp => ['s', scratch(key), value]),
  number.map((value): ModelOp => ['s', ['frame', 'nodes', 'n'], { status: 'completed', fired: [], output: value }]),
  number.map((value): ModelOp => [
    's',
    ['frame', 'nodes', 'm'],
    value > 2
      ? { status: 'completed', fired: [], output: value, as: 'named' }
      : { status: 'failed', error: { value }, fired: [] },
  ]),
  number.map((value): ModelOp => ['a', scratch('list'), [value]]),
);

test('N11 what is found is what asking at every checkpoint finds', async () => {
  let held = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(anyOp, { minLength: 1, maxLength: 2 }), { maxLength: 12 }),
      fc.constantFrom(...questions),
      async (commits, when) => {
        const history = new ModelHistory();
        const run = await history.start();
        await run.commit([['s', scratch('list'), []]]);
        for (const ops of commits) await run.commit(ops);
        const row = await run.row();
        const { holds } = compileQuestion(when);
        let expected: number | undefined;
        for (let seq = 0; seq <= row.head && expected === undefined; seq++) {
          const { status, state } = viewState((await loadState(history.store, history.blobs, row, seq)).root);
          try {
            if (holds({ ...state, status })) expected = seq;
          } catch {
            // It cannot be answered there, which counts as not holding.
          }
        }
        if (expected !== undefined) held += 1;
        const { found, evaluated } = await find(history, row, when);
        expect(found?.seq).toBe(expected);
        expect(evaluated).toBeLessThanOrEqual(row.head + 1);
      },
    ),
    { numRuns: 300 },
  );
  expect(held).toBeGreaterThan(50);
});
