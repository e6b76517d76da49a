/** Backups of stores that are written to, and what comes of them: whole copies with their large values, and runs that are held. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { AgentGraph, END, humanNode, openHistory, START } from '../../src/index.ts';
import { backUp, restore, type RestoreReport, type Store } from '../../src/store.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { bundleScript } from '../support/bundled-script.ts';
import { sample, scale } from '../support/scale.ts';
import { until } from '../support/awaited.ts';
import { builtMain } from '../support/built-package.ts';
import { collect } from '../support/small-graphs.ts';
import { largeText, refunds } from './refunds.ts';

const execute = promisify(execFile);
const here = import.meta.dirname;

let folder = '';
const at = (name: string): string => join(folder, name);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cairn-backup-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A store with one run that has ended, and one that waits. */
async function makeStore(): Promise<void> {
  const store = openSqliteStore({ path: at('runs.db') });
  const app = refunds(store);
  await app.invoke({ name: 'a' }, { runId: 'a' });
  await app.resume('a', { answers: { approve: 'yes' } });
  await app.invoke({ name: 'b' }, { runId: 'b' });
  await app.close();
  await store.close();
}

/** Lets each held run go on to its end, and says what that was. */
async function finish(path: string, { held }: RestoreReport): Promise<void> {
  const store = openSqliteStore({ path });
  const app = refunds(store);
  // Each is a run to its end.
  for (const { runId } of sample(held, 3)) {
    await app.history.release(runId);
    const waits = await collect(app.history.waits({ run: runId }));
    const answers = waits.length === 0 ? {} : { answers: { approve: 'yes' as const } };
    const result = await app.resume(runId, answers);
    const rested = result.status === 'paused' ? await app.resume(runId, { answers: { approve: 'yes' } }) : result;
    expect([rested.status, rested.state.outputs.letter]).toEqual(['completed', largeText(`${runId} yes`)]);
  }
  expect(await app.history.verify()).toMatchObject({ isValid: true });
  await app.close();
  await store.close();
}

function countFiles(path: string): number {
  return readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length;
}

test('B1 a backup holds the store with its large values, and nothing reads it as a store', async () => {
  await makeStore();
  const report = await backUp(at('runs.db'), at('kept'));
  expect(report).toEqual({ file: at('kept'), runs: 2, blobs: countFiles(at('runs.blobs')), faults: [] });
  expect(statSync(at('kept')).mode & 0o777).toBe(0o600);
  expect(() => openSqliteStore({ path: at('kept') })).toThrow(/another program/);
  await backUp(at('runs.db'), at('kept'), { keep: 2 });
  await backUp(at('runs.db'), at('kept'), { keep: 2 });
  expect(
    readdirSync(folder)
      .filter((name) => name.startsWith('kept'))
      .sort(),
  ).toEqual(['kept', 'kept.1']);
  await expect(backUp(at('runs.db'), at('runs.db'))).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});

test('B2 a restored store is whole, and its open runs are held until they are released', async () => {
  await makeStore();
  await backUp(at('runs.db'), at('kept'));
  await expect(restore(at('kept'), at('runs.db'))).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  const report = await restore(at('kept'), at('new/runs.db'));
  expect(report.held.map(({ runId, status, isHeld }) => [runId, status, isHeld])).toEqual([['b', 'paused', true]]);
  expect(statSync(at('new/runs.db')).mode & 0o777).toBe(0o600);

  const store = openSqliteStore({ path: at('new/runs.db') });
  const app = refunds(store);
  expect((await app.inspect('a')).state.outputs.letter).toBe(largeText('a yes'));
  await app.answer('b', 'approve', 'yes');
  await expect(app.resume('b')).rejects.toMatchObject({
    code: 'RUN_HELD',
    hint: expect.stringContaining('cairn release b') as string,
  });
  expect(await store.claimNext({ tenant: 'default', workerId: 'w', leaseMs: 1_000, at: Date.now(), limit: 9 })).toEqual(
    [],
  );
  await expect(app.history.prune('b')).rejects.toMatchObject({ code: 'RUN_HELD' });
  await expect(app.history.remove('b')).rejects.toMatchObject({ code: 'RUN_HELD' });
  expect((await app.history.pruneAll()).busy).toEqual(['b']);
  expect((await collect(app.history.list({ status: ['held'] }))).map(({ runId }) => runId)).toEqual(['b']);
  expect((await app.history.examine()).find(({ name }) => name === 'held runs')?.fix).toBe('cairn release b');
  await expect(app.history.release('a')).rejects.toMatchObject({ code: 'USAGE_INVALID' });
  expect(await app.history.releaseAll()).toMatchObject([{ runId: 'b', inDoubt: [] }]);
  expect((await app.resume('b')).state.outputs.letter).toBe(largeText('b yes'));
  await app.close();
  await store.close();

  await restore(at('kept'), at('new/runs.db'), { replace: true });
  const [again] = await collect(openHistory(openSqliteStore({ path: at('new/runs.db') })).list({ status: ['held'] }));
  expect(again?.runId).toBe('b');
  expect(existsSync(at('new/runs.db.replaced'))).toBe(true);
});

test('B3 after a release what has a reconcile is looked up before it is done, nodes and steps alike', async () => {
  const done = new Map<string, string>();
  const calls: string[] = [];
  const act = (key: string, what: string): string => {
    calls.push(what);
    done.set(key, `${what} done`);
    return `${what} done`;
  };
  const reconcile = ({ idempotencyKey }: { readonly idempotencyKey: string }) => ({
    happened: done.has(idempotencyKey),
    output: done.get(idempotencyKey),
  });
  const graph = (store: Store) =>
    new AgentGraph({ input: z.object({}), scratch: z.object({}) }, { id: 'pays' })
      .addNode('approve', humanNode({ prompt: 'Pay?' }))
      .addNode('pay', (ctx) => act(ctx.idempotencyKey, 'pay'), { effectClass: 'external', reconcile })
      .addNode('book', (ctx) =>
        ctx.step('row', { effect: 'write', reconcile }, (step) => act(step.idempotencyKey, 'book')),
      )
      .addEdge(START, 'approve')
      .addEdge('approve', 'pay')
      .addEdge('pay', 'book')
      .addEdge('book', END)
      .compile({ store });
  const store = openSqliteStore({ path: at('runs.db') });
  const app = graph(store);
  await app.invoke({}, { runId: 'r' });
  await backUp(at('runs.db'), at('kept'));
  await app.resume('r', { answers: { approve: 'yes' } });
  await app.close();
  await store.close();
  expect(calls).toEqual(['pay', 'book']);

  await restore(at('kept'), at('new.db'));
  const restored = openSqliteStore({ path: at('new.db') });
  const again = graph(restored);
  await again.history.release('r');
  const result = await again.resume('r', { answers: { approve: 'yes' } });
  expect([result.status, result.state.outputs.pay, result.state.outputs.book]).toEqual([
    'completed',
    'pay done',
    'book done',
  ]);
  expect(calls, 'done once').toEqual(['pay', 'book']);
  expect(await again.history.verify()).toMatchObject({ isValid: true });
  await again.close();
  await restored.close();

  done.clear();
  // Where the lookup says that nothing happened, the work is done.
  await restore(at('kept'), at('third.db'));
  const third = openSqliteStore({ path: at('third.db') });
  const last = graph(third);
  await last.history.release('r');
  expect((await last.resume('r', { answers: { approve: 'yes' } })).status).toBe('completed');
  expect(calls).toEqual(['pay', 'book', 'pay', 'book']);
  await last.close();
  await third.close();
});

test('B2 a held run that is to be cancelled is cancelled when it is released and taken up', async () => {
  await makeStore();
  await backUp(at('runs.db'), at('kept'));
  await restore(at('kept'), at('new.db'));
  const store = openSqliteStore({ path: at('new.db') });
  const app = refunds(store);
  await app.cancel('b');
  expect((await app.history.find('b')).isHeld).toBe(true);
  await app.history.release('b');
  expect((await app.resume('b')).status).toBe('cancelled');
  await app.close();
  await store.close();
});

test('B2 a damaged backup is refused and leaves no store; a missing value is named', async () => {
  await makeStore();
  await backUp(at('runs.db'), at('kept'));
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const db = new DatabaseSync(at('kept'));
  db.exec('delete from backup_blobs where no = 0 and hash = (select max(hash) from backup_blobs)');
  db.close();
  await expect(restore(at('kept'), at('new.db'))).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  expect(existsSync(at('new.db'))).toBe(false);
  appendFileSync(at('text'), 'no backup');
  await expect(restore(at('text'), at('new.db'))).rejects.toMatchObject({ code: 'STORE_CORRUPT' });

  rmSync(at('runs.blobs'), { recursive: true });
  const store = openSqliteStore({ path: at('runs.db') });
  const history = openHistory(store);
  expect((await history.verify()).reports.flatMap(({ faults }) => faults.map(({ code }) => code))).toContain(
    'BLOB_NOT_FOUND',
  );
  expect((await history.examine()).find(({ name }) => name === 'histories')).toMatchObject({
    verdict: 'bad',
    code: 'BLOB_NOT_FOUND',
  });
  await store.close();
  // What was damaged already is told, and does not keep the rest from being restored.
  const { faults } = await backUp(at('runs.db'), at('rest'));
  expect(faults.length).toBeGreaterThan(0);
  expect((await restore(at('rest'), at('rest.db'))).faults).toEqual(faults);
});

test(
  'B3 a backup made while three processes write is whole, and each run goes on to its end',
  { timeout: 120_000 },
  async () => {
    await makeStore();
    const script = await bundleScript(join(here, 'writer.ts'));
    const writers = ['x', 'y', 'z'].map((name) => spawn(process.execPath, [script, at('runs.db'), name]));
    const reports: string[] = [];
    try {
      for (let no = 0; no < scale(2, 3); no += 1) {
        await Promise.all(writers.map(nextLine));
        await backUp(at('runs.db'), at(`kept-${no}`));
        reports.push(at(`kept-${no}`));
      }
    } finally {
      for (const writer of writers) writer.kill('SIGKILL');
    }
    for (const file of reports) {
      const report = await restore(file, `${file}.db`);
      expect(report.faults).toEqual([]);
      expect(report.held.length).toBeGreaterThan(0);
      await finish(`${file}.db`, report);
    }
  },
);

function nextLine(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', () => resolve());
    child.once('exit', (code) => reject(new Error(`a writer ended with ${code}`)));
  });
}

/** Runs the act, killed after its n-th call; undefined: it lives. @returns how many calls it made, if it lived */
async function act(what: string, from: string, to: string, last?: number): Promise<number | undefined> {
  const args = [
    await bundleScript(join(here, 'act.ts')),
    what,
    from,
    to,
    ...(last === undefined ? [] : [String(last)]),
  ];
  const done = await execute(process.execPath, args).catch(
    (error: unknown) => error as { signal?: string; stderr?: string },
  );
  if ('signal' in done && done.signal === 'SIGKILL') return undefined;
  expect(done.stderr).toBe('');
  return Number((done as { stdout: string }).stdout);
}

/** A few of the calls at each end, and every so many between. */
function someOf(calls: number): readonly number[] {
  const step = Math.max(1, Math.floor(calls / scale(2, 40)));
  return Array.from({ length: calls }, (_, index) => index + 1).filter(
    (no) => no % step === 0 || no > calls - scale(2, 6),
  );
}

test('B4 a backup that is killed is none, or it is whole', { timeout: 300_000 }, async () => {
  await makeStore();
  const calls = (await act('backup', at('runs.db'), at('first')))!;
  expect(calls).toBeGreaterThan(10);
  let whole = 0;
  for (const last of someOf(calls)) {
    await act('backup', at('runs.db'), at(`kept-${last}`), last);
    if (!existsSync(at(`kept-${last}`))) continue;
    whole += 1;
    expect((await restore(at(`kept-${last}`), at(`kept-${last}.db`))).held.length).toBe(1);
  }
  expect(whole).toBeGreaterThan(0);
  expect(whole).toBeLessThan(someOf(calls).length);
  // What the dead have left goes with the next of that name.
  const left = (): readonly string[] =>
    readdirSync(folder).filter((name) => name.startsWith('again') && name.includes('.part'));
  await act('backup', at('runs.db'), at('again'), Math.floor(calls / 2));
  expect(left().length).toBeGreaterThan(0);
  await backUp(at('runs.db'), at('again'));
  expect(left()).toEqual([]);
});

test('B4 a restore that is killed leaves no store, or one that is whole and held', { timeout: 300_000 }, async () => {
  await makeStore();
  await backUp(at('runs.db'), at('kept'));
  const calls = (await act('restore', at('kept'), at('first.db')))!;
  let whole = 0;
  for (const last of someOf(calls)) {
    const path = at(`store-${last}.db`);
    await act('restore', at('kept'), path, last);
    if (existsSync(path)) whole += 1;
    else await restore(at('kept'), path);
    const store = openSqliteStore({ path });
    expect(await openHistory(store).verify()).toMatchObject({ isValid: true });
    expect(await collect(openHistory(store).list({ status: ['held'] }))).toHaveLength(1);
    await store.close();
  }
  expect(whole).toBeGreaterThan(0);
  expect(whole).toBeLessThan(someOf(calls).length);
});

test('B5 a backup for which there is no room ends with a code, and leaves nothing', async () => {
  await makeStore();
  writeFileSync(
    at('run.mjs'),
    `import { backUp } from ${JSON.stringify(join(here, '../../src/store.ts'))};
    await backUp(${JSON.stringify(at('runs.db'))}, ${JSON.stringify(at('kept'))}).catch((error) => console.log(error.code));`,
  );
  const { stdout } = await execute('bash', ['-c', `ulimit -f 100; exec "$0" "$1"`, process.execPath, at('run.mjs')]);
  expect(['STORE_FULL', 'STORE_UNAVAILABLE']).toContain(stdout.trim());
  expect(readdirSync(folder).filter((name) => name.startsWith('kept'))).toEqual([]);
});

test('S6 `cairn backup --every` makes one again and again, keeps what it was told to, goes on after one that failed, and ends in good order', async () => {
  await makeStore();
  const args = ['backup', at('copies/b.backup'), '--every', '1s', '--keep', '2', '--store', at('runs.db'), '--json'];
  const child = spawn(process.execPath, [builtMain, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (data) => (said.stdout += String(data)));
  child.stderr.on('data', (data) => (said.stderr += String(data)));
  const ended = once(child, 'close');
  try {
    // Its folder is a file at first.
    writeFileSync(at('copies'), '');
    await until('the first fails', () => said.stderr.includes('"code"'), 20);
    rmSync(at('copies'));
    mkdirSync(at('copies'));
    await until('three are made', () => said.stdout.split('\n').length > 3, 20);
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  } finally {
    child.kill('SIGKILL');
  }
  expect(readdirSync(at('copies')).sort()).toEqual(['b.backup', 'b.backup.1']);
  const { held } = await restore(at('copies/b.backup'), `sqlite:${at('again.db')}`);
  expect(held.map(({ runId }) => runId)).toEqual(['b']);
});
