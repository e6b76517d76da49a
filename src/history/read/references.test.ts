import { beforeAll, expect, test } from 'vitest';
import { ModelHistory, tenant, type ModelRun } from '../../../test/history/model-history.ts';
import { pruneRun } from '../retention/prune.ts';
import { findRun, resolveReference } from './references.ts';

const history = new ModelHistory();
let main: ModelRun;
let fork: ModelRun;

async function write(runId: string, commits: number): Promise<ModelRun> {
  const run = await history.start(runId);
  for (let i = 0; i < commits; i++) await run.commit([['s', ['codeHash'], `${i}`]]);
  return run;
}

beforeAll(async () => {
  main = await write('0190-main', 5);
  await write('0190-other', 1);
  await write('odd@2', 3);
  await write('odd', 3);
  await write('lone@1', 2);
  await write('with', 1);
  await write('with.7', 1);
  await history.store.tagCheckpoint(await main.row(), { name: 'v1', seq: 2 });
  await history.store.tagCheckpoint(await main.row(), { name: '3', seq: 1 });
  await history.store.tagCheckpoint(await main.row(), { name: 'late', seq: 5 });
  fork = await history.fork(main, 3, 'fork');
  const pruned = await write('pruned', 8);
  await pruneRun(history.store, history.blobs, pruned.claim, await pruned.row(), { keepEvery: 4 });
  await pruneRun(history.store, history.blobs, pruned.claim, await pruned.row(), { keepLast: 5 });
});

const resolve = async (text: string): Promise<string> => {
  const { run, seq } = await resolveReference(history.store, tenant, text);
  return `${run.runId} ${seq}`;
};

test.each([
  ['0190-main', '0190-main 5'],
  ['0190-m', '0190-main 5'],
  ['0190-main@4', '0190-main 4'],
  ['0190-m@4', '0190-main 4'],
  ['0190-main@head', '0190-main 5'],
  ['0190-main@head~2', '0190-main 3'],
  ['0190-main~', '0190-main 4'],
  ['0190-main~2~1', '0190-main 2'],
  ['0190-main@4~~', '0190-main 2'],
  ['0190-main@v1', '0190-main 2'],
  ['0190-main@v1~1', '0190-main 1'],
  ['0190-main@3', '0190-main 1'],
  ['"odd@2"', 'odd@2 3'],
  ['"odd@2"@1', 'odd@2 1'],
  ['"odd@2"~', 'odd@2 2'],
  ['"odd"@2', 'odd 2'],
  ['odd@2@1', 'odd@2 1'],
  ['lone@1', 'lone@1 2'],
  ['odd@1', 'odd 1'],
  ['with.7', 'with.7 1'],
  ['fork', 'fork 4'],
  ['fork@1', 'fork 1'],
  ['fork@v1', 'fork 2'],
  ['pruned@4', 'pruned 4'],
])('H1 %s is found', async (text, expected) => {
  expect(await resolve(text)).toBe(expected);
});

test('H1 run keys and their prefixes name runs in checkpoint ids', async () => {
  expect(await resolve(`${main.key}.4`)).toBe('0190-main 4');
  expect(await resolve(`${main.key.slice(0, 10)}.4`)).toBe('0190-main 4');
  expect(await resolve(fork.key)).toBe('fork 4');
});

test.each([
  ['nothing', 'RUN_NOT_FOUND', {}],
  ['', 'RUN_NOT_FOUND', {}],
  ['"0190-m"', 'RUN_NOT_FOUND', {}],
  ['odd@2', 'CHECKPOINT_AMBIGUOUS', { matches: ['"odd@2"', '"odd"@2'] }],
  ['nothing@3', 'RUN_NOT_FOUND', {}],
  ['0190', 'CHECKPOINT_AMBIGUOUS', { matches: ['0190-main', '0190-other'] }],
  ['0190@2', 'CHECKPOINT_AMBIGUOUS', { reference: '0190@2' }],
  ['0190-main@6', 'CHECKPOINT_NOT_FOUND', {}],
  ['0190-main@head~9', 'CHECKPOINT_NOT_FOUND', {}],
  ['0190-main@nothing', 'CHECKPOINT_NOT_FOUND', {}],
  ['0190-main@99999999999999999999', 'CHECKPOINT_NOT_FOUND', {}],
  ['fork@late', 'CHECKPOINT_NOT_FOUND', {}],
  ['pruned@1', 'CHECKPOINT_PRUNED', { remains: expect.stringMatching(/\.4$/) as string }],
])('H1 %s is refused as %s', async (text, code, data) => {
  await expect(resolve(text)).rejects.toMatchObject({ code, data });
});

test('H1 a folded checkpoint names the row that stands for it', async () => {
  const run = await write('folded', 8);
  await pruneRun(history.store, history.blobs, run.claim, await run.row(), { keepEvery: 8 });
  await expect(resolve('folded@3')).rejects.toMatchObject({
    code: 'CHECKPOINT_PRUNED',
    data: { checkpoint: `${run.key}.3`, remains: `${run.key}.7` },
  });
});

test('O1 ids are not enough to reach a run of another tenant', async () => {
  await expect(resolveReference(history.store, 'other', '0190-main')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  await expect(resolveReference(history.store, 'other', main.key)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
});

test('H1 a run is found by its id, its key or a prefix; a program that asks for it exactly is given no other', async () => {
  const { store } = history;
  const exactly = { byPrefix: false };
  for (const name of ['0190-main', main.key]) {
    expect((await findRun(store, tenant, name)).runId).toBe('0190-main');
    expect((await findRun(store, tenant, name, exactly)).runId).toBe('0190-main');
    expect((await resolveReference(store, tenant, `${name}@2`, exactly)).run.runId).toBe('0190-main');
  }
  for (const prefix of ['0190-m', main.key.slice(0, 10)]) {
    expect((await findRun(store, tenant, prefix)).runId).toBe('0190-main');
    await expect(findRun(store, tenant, prefix, exactly)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(resolveReference(store, tenant, `${prefix}@2`, exactly)).rejects.toMatchObject({
      code: 'RUN_NOT_FOUND',
    });
  }
  // A name of a checkpoint is none of a run.
  for (const name of ['0190-main@2', `${main.key}.2`, ''])
    await expect(findRun(store, tenant, name)).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
});
