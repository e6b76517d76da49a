/** Commands that end with an exit code: tried again where their author says so, asked about by a plain resume (X3). */
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { PreviewOptions } from '../../src/engine/api.ts';
import { systemClock } from '../../src/app/process/system-clock.ts';
import { createNodeTypes } from '../../src/nodes/blocks/index.ts';
import { createBench } from '../engine-kit.ts';
import { read } from '../yaml-kit.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-ended-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const nodeTypes = createNodeTypes();
let count = 0;

/** Starts a workflow of one Shell block. Each attempt writes its key into a file. */
async function run(command: string, more = '') {
  const log = join(folder, `${(count += 1)}.log`);
  const text = `name: w
blocks:
  - id: pay
    type: Shell
    inputs: { command: 'echo "$CAIRN_IDEMPOTENCY_KEY" >> ${log}; ${command}' }
    ${more}
outputs: { failed: "\${pay.failed}" }
`;
  const { graph } = read(text.replaceAll('LOG', log), { nodeTypes });
  const bench = createBench({ clock: systemClock });
  const result = await (await bench.engine.start(graph, {})).result();
  const keys = (): readonly string[] => readFileSync(log, 'utf8').trim().split('\n');
  return { ...bench, graph, result, keys };
}

test('X3 B5 a command that ends with an exit code is tried again under its key as its author says, and no more', async () => {
  const { result, keys } = await run('[ $(wc -l < LOG) -ge 3 ]', 'retry: { attempts: 5, delay: 1ms }');
  expect([result.status, keys().length, new Set(keys()).size]).toEqual(['completed', 3, 1]);
  const spent = await run('exit 3', 'retry: { attempts: 2, delay: 1ms }');
  expect([spent.result.status, spent.keys().length]).toEqual(['failed', 2]);
  const once = await run('exit 3');
  expect([once.result.status, once.keys().length]).toEqual(['failed', 1]);
});

test('X3 a plain resume asks whether what ended with an exit code happened, with its attempts used up or without any', async () => {
  for (const more of ['', 'retry: { attempts: 2, delay: 1ms }']) {
    const { engine, graph, result, keys } = await run('exit 1', more);
    const before = keys().length;
    const asked = await (await engine.resume(result.runId, { graph })).result();
    expect([asked.status, asked.waits.map(({ kind }) => kind), keys().length]).toEqual(['paused', ['doubt'], before]);
    await engine.answer(asked.runId, asked.waits[0]?.waitId ?? '', 'happened');
    expect((await (await engine.resume(asked.runId, { graph })).result()).status).toBe('completed');
  }
});

test('X3 a command that a signal ended is in doubt, whatever its author says of retries', async () => {
  const { result, keys } = await run('kill -9 $$', 'retry: { attempts: 3, delay: 1ms }');
  expect([result.status, keys().length]).toEqual(['failed', 1]);
});

test('X3 Y10 items whose command ends with an exit code are tried again each under its own key', async () => {
  const each = 'for_each: [a, b]\n    retry: { attempts: 4, delay: 1ms }';
  const { result, keys } = await run('[ $(grep -c "$CAIRN_IDEMPOTENCY_KEY" LOG) -ge 2 ]', each);
  expect([result.status, result.error?.message]).toEqual(['completed', undefined]);
  expect([keys().length, new Set(keys()).size]).toEqual([4, 2]);
});

test('X3 a resume that says so tries again what ended with an exit code, also in a called workflow and of each item; never what a signal ended', async () => {
  const again = '[ $(wc -l < LOG) -ge 2 ]';
  for (const more of ['', 'retry: { attempts: 1 }']) {
    const { engine, graph, result, keys } = await run(again, more);
    expect(result.status).toBe('failed');
    const done = await (await engine.resume(result.runId, { graph, retry: true })).result();
    expect([done.status, keys().length, new Set(keys()).size]).toEqual(['completed', 2, 1]);
  }
  const items = await run(
    '[ $(grep -c "$CAIRN_IDEMPOTENCY_KEY" LOG) -ge 2 ]',
    'for_each: [a, b]\n    for_each_mode: sequential\n    continue_on_error: false',
  );
  let standing = items.result;
  for (let round = 0; round < 4 && standing.status === 'failed'; round += 1)
    standing = await (await items.engine.resume(standing.runId, { graph: items.graph, retry: true })).result();
  expect([standing.status, items.keys().length, new Set(items.keys()).size]).toEqual(['completed', 4, 2]);
  const killed = await run('kill -9 $$');
  const asked = await (await killed.engine.resume(killed.result.runId, { graph: killed.graph, retry: true })).result();
  expect([asked.status, killed.keys().length]).toEqual(['paused', 1]);
});

test('X3 a resume that says so takes itself for the answer, where a plain one has asked: what ended is tried again, nothing else', async () => {
  const again = '[ $(wc -l < LOG) -ge 2 ]';
  for (const more of ['', 'for_each: [a]\n    continue_on_error: false']) {
    const { engine, graph, result, keys } = await run(again, more);
    const { runId } = result;
    const asked = await (await engine.resume(runId, { graph })).result();
    const predicted = (await engine.preview(asked, { graph, retry: true })).map(({ prediction }) => prediction);
    const done = await (await engine.resume(runId, { graph, retry: true, by: 'ada' })).result();
    expect([asked.status, predicted[0], done.status, done.waits]).toEqual(['paused', 'runs again', 'completed', []]);
    expect([keys().length, new Set(keys()).size]).toEqual([2, 1]);
    const [waitId = ''] = asked.waits.map((wait) => wait.waitId);
    await expect(engine.answer(runId, waitId, 'fail')).rejects.toMatchObject({
      code: 'WAIT_CLOSED',
      data: { by: 'ada', answer: 'run again' },
    });
  }
  const killed = await run('kill -9 $$');
  await (await killed.engine.resume(killed.result.runId, { graph: killed.graph })).result();
  const still = await (await killed.engine.resume(killed.result.runId, { graph: killed.graph, retry: true })).result();
  expect([still.status, killed.keys().length]).toEqual(['paused', 1]);
});

test('X3 what a person has answered stands, though a resume says to try again', async () => {
  const { engine, graph, result, keys } = await run('exit 1');
  const { waits, runId } = await (await engine.resume(result.runId, { graph })).result();
  await engine.answer(runId, waits[0]?.waitId ?? '', 'happened');
  const done = await (await engine.resume(runId, { graph, retry: true })).result();
  expect([done.status, keys().length]).toEqual(['completed', 1]);
});

test('X3 of two that ended, a question that was left open when the run failed is answered by a resume that says so too', async () => {
  const log = join(folder, 'two.log');
  const block = (id: string): string =>
    `  - { id: ${id}, type: Shell, inputs: { command: 'echo ${id} >> ${log}; [ $(grep -c ${id} ${log}) -ge 2 ]' } }\n`;
  const { graph } = read(`name: w\nblocks:\n${block('a')}${block('b')}`, { nodeTypes });
  const { engine } = createBench({ clock: systemClock });
  const { runId } = await (await engine.start(graph, {})).result();
  const asked = await (await engine.resume(runId, { graph })).result();
  expect(new Set(asked.waits.map(({ node }) => node[0]))).toEqual(new Set(['a', 'b']));
  await engine.answer(runId, asked.waits.find(({ node }) => node[0] === 'a')?.waitId ?? '', 'fail');
  expect(await (await engine.resume(runId, { graph })).result()).toMatchObject({ status: 'failed', failed: ['a'] });
  const rest = await (await engine.resume(runId, { graph, retry: true })).result();
  // A person said that the other one is to fail: of that it is not known any more how it ended.
  expect(rest.waits.map(({ node }) => node)).toEqual([['a']]);
  expect(readFileSync(log, 'utf8').trim().split('\n').toSorted()).toEqual(['a', 'b', 'b']);
});

test('X3 Y11 a command of a called workflow that ended with an exit code is tried again by a resume that says so', async () => {
  const log = join(folder, 'inner.log');
  const inner = `name: inner\nblocks: [{ id: pay, type: Shell, inputs: { command: 'echo x >> ${log}; [ $(wc -l < ${log}) -ge 2 ]' } }]\n`;
  const { graph } = read('name: w\nblocks: [{ id: c, type: Workflow, inputs: { workflow: inner } }]\n', {
    nodeTypes,
    others: { inner },
  });
  const { engine } = createBench({ clock: systemClock });
  const failed = await (await engine.start(graph, {})).result();
  expect(failed.status).toBe('failed');
  const done = await (await engine.resume(failed.runId, { graph, retry: true })).result();
  expect([done.status, readFileSync(log, 'utf8')]).toEqual(['completed', 'x\nx\n']);
});

test('X5 a preview of a resume tells what it does with a command that ended with an exit code, as its options say', async () => {
  const { engine, graph, result } = await run('exit 1');
  const previewOf = async (options: PreviewOptions): Promise<readonly (string | undefined)[]> =>
    (await engine.preview({ runId: result.runId, seq: result.seq }, { graph, ...options })).map(
      ({ node, prediction }) => `${node.join('/')} ${prediction}`,
    );
  expect(await previewOf({})).toEqual(['pay in doubt', 'outputs unknown']);
  expect(await previewOf({ retry: true })).toEqual(['pay runs again', 'outputs unknown']);
  expect(await previewOf({ retryFailed: false })).toEqual([]);
});

test('X5 a preview tells that a resume asks about an effect in a step or a child run, unless a repetition does no harm', async () => {
  const each = { more: 'for_each: [a]\n    continue_on_error: false' };
  for (const { more, expected } of [
    { ...each, expected: 'in doubt' },
    { more: `${each.more}\n    idempotent: true`, expected: 'runs again' },
  ]) {
    const { engine, graph, result } = await run('exit 1', more);
    const [row] = await engine.preview(result, { graph });
    const resumed = await (await engine.resume(result.runId, { graph })).result();
    const has = resumed.status === 'paused' ? 'in doubt' : 'runs again';
    expect([row?.prediction, has]).toEqual([expected, expected]);
  }
});
