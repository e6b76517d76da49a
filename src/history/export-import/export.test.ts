import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  anySteps,
  emptyTree,
  ModelHistory,
  tenant,
  writeHistory,
  type ModelRun,
} from '../../../test/history/model-history.ts';
import { CairnError } from '../../errors.ts';
import { exportRun, type ExportOptions } from './export.ts';
import { importRun, type ImportOptions, type ImportReport } from './import.ts';
import { loadState, readHistory } from '../load/load.ts';
import { pruneRun } from '../retention/prune.ts';
import { verifyRun } from '../verify/verify.ts';

async function exportLines(run: ModelRun, options: ExportOptions = {}): Promise<string[]> {
  const { store, blobs } = run.history;
  const lines: string[] = [];
  for await (const line of exportRun(store, blobs, await run.row(), options)) lines.push(line);
  return lines;
}

async function* pieces(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

const move = { tenant, as: 'move', workerId: 'importer' } as const;
const copy = { tenant, as: 'copy', newRunId: 'copy', workerId: 'importer' } as const;

function importLines(
  target: ModelHistory,
  lines: readonly string[],
  options: ImportOptions = move,
): Promise<ImportReport> {
  return importRun(target.store, target.blobs, pieces(lines), options);
}

/** Every checkpoint there, from what was pruned on, has the state it had. */
async function checkImported(from: ModelRun, target: ModelHistory, report: ImportReport, upTo: number): Promise<void> {
  const run = await target.readRun(report.runId);
  for (let seq = run.prunedBelow; seq <= upTo; seq++) {
    const loaded = await loadState(target.store, target.blobs, run, seq);
    expect(loaded.root).toEqual(from.states.get(seq));
  }
  expect((await verifyRun(target.store, target.blobs, run)).faults).toEqual([]);
}

test('H4 a run moves or is copied at any checkpoint, forks and pruned histories included', async () => {
  await fc.assert(
    fc.asyncProperty(
      anySteps,
      fc.nat(),
      fc.nat(),
      fc.boolean(),
      fc.boolean(),
      async (steps, which, where, isPruned, isCopy) => {
        const runs = await writeHistory(steps);
        const run = runs[which % runs.length]!;
        const { store, blobs } = run.history;
        if (isPruned) await pruneRun(store, blobs, run.claim, await run.row(), { keepLast: 2 });
        const { prunedBelow } = await run.row();
        const upTo = isPruned ? run.head : Math.max(prunedBelow, where % (run.head + 1));
        const target = new ModelHistory();
        const report = await importLines(target, await exportLines(run, { upTo }), isCopy ? copy : move);
        expect(report.head).toBe(isCopy ? upTo + 1 : upTo);
        const imported = await target.readRun(report.runId);
        expect(imported).toMatchObject({ head: report.head, status: 'running' });
        expect((await loadState(target.store, target.blobs, imported, upTo)).root).toEqual(run.states.get(upTo));
        const last = isPruned ? imported.prunedBelow - 1 : upTo;
        await checkImported(run, target, report, last);
      },
    ),
    { numRuns: 60 },
  );
}, 30_000);

async function writeSmall(): Promise<ModelRun> {
  const history = new ModelHistory();
  const wait = { kind: 'question', node: ['n'], name: 'question', prompt: 'Really?' };
  const run = await history.start('r', { ...emptyTree(), status: 'paused' });
  const hash = await history.blobs.put({ tenant, runId: 'run' }, Buffer.from(JSON.stringify(['a', 'large', 'value'])));
  await run.commitJson(`[["s",["frame","channels","scratch","big"],{"$":"blob","hash":"${hash}","sizeBytes":21}]]`);
  run.states.set(1, {
    ...run.states.get(0),
    frame: {
      ...(run.states.get(0)!['frame'] as object),
      channels: { scratch: { big: ['a', 'large', 'value'] }, artifacts: {}, diagnostics: {} },
    },
  });
  await run.commit([['a', ['frame', 'channels', 'scratch', 'big'], ['grown']]]);
  await run.commit([['s', ['waits', 'w1'], wait]]);
  await history.store.tagCheckpoint(await run.row(), { name: 'first', seq: 1 });
  await history.store.postMessage({
    tenant,
    runId: 'r',
    kind: 'signal',
    name: 's1',
    body: Buffer.from('{"value":"early"}'),
    at: 5,
  });
  return run;
}

test('H4 blobs, tags, waits and messages go along', async () => {
  const run = await writeSmall();
  const target = new ModelHistory();
  const report = await importLines(target, await exportLines(run));
  expect(report).toEqual({ runId: 'r', checkpoints: 4, head: 3 });
  await checkImported(run, target, report, 3);
  const row = await target.readRun('r');
  expect(row).toMatchObject({ status: 'paused', hasMessages: true });
  expect(await target.store.readTags(row)).toEqual([{ name: 'first', seq: 1 }]);
  expect((await target.store.listWaits({ tenant })).rows).toMatchObject([
    { runId: 'r', waitId: 'w1', kind: 'question' },
  ]);
  expect((await target.store.readMessages(row)).map(({ name }) => name)).toEqual(['s1']);
  expect(row.claim).toBeUndefined();
});

test('H4 a copy says where it came from', async () => {
  const run = await writeSmall();
  const report = await importLines(run.history, await exportLines(run), copy);
  const row = await run.history.readRun('copy');
  const changes = [];
  for await (const { checkpoint } of readHistory(run.history.store, row, { from: report.head, to: report.head }))
    changes.push(checkpoint.change);
  expect(changes).toEqual([[{ kind: 'fork', from: { runId: 'r', seq: 3 } }]]);
});

test('H4 a moved run is closed where it was, and exports the same again', async () => {
  const run = await writeSmall();
  const close = { claim: run.claim, at: 9 };
  const lines = await exportLines(run, { close });
  const source = await run.row();
  expect(source).toMatchObject({ status: 'cancelled', head: 4 });
  expect((await run.history.store.listWaits({ tenant })).rows).toEqual([]);
  expect(await exportLines(run, { close })).toEqual(lines);
  expect((await verifyRun(run.history.store, run.history.blobs, source)).faults).toEqual([]);
  const target = new ModelHistory();
  expect(await importLines(target, lines)).toMatchObject({ head: 3 });
  expect(await target.readRun('r')).toMatchObject({ status: 'paused' });
});

test('H4 an import that is cut off anywhere leaves no live run, and can be repeated', async () => {
  const run = await writeSmall();
  const lines = await exportLines(run);
  for (let cut = 0; cut < lines.length; cut++) {
    const target = new ModelHistory();
    const cutLines = lines.slice(0, cut);
    await expect(importLines(target, cutLines)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    expect((await target.store.listRuns({ tenant })).rows).toEqual([]);
    await importLines(target, lines);
    expect(await importLines(target, lines)).toMatchObject({ head: 3 });
    expect(await target.readRun('r')).toMatchObject({ status: 'paused', head: 3 });
  }
});

test('H4 an import whose process dies goes on where it stopped', async () => {
  const run = await writeSmall();
  const lines = await exportLines(run);
  for (let dieAfter = 1; dieAfter <= 4; dieAfter++) {
    const target = new ModelHistory();
    let writes = 0;
    const dying = new Proxy(target.store, {
      get: (store, name) => {
        if (name === 'removeRun' || name === 'releaseClaim')
          return () => Promise.reject(new CairnError('STORE_CLOSED', { store: 'test' }));
        const method = Reflect.get(store, name) as (...args: unknown[]) => unknown;
        if (name !== 'admitRun' && name !== 'commit') return method;
        return (...args: unknown[]) =>
          ++writes > dieAfter ? Promise.reject(new CairnError('STORE_CLOSED', { store: 'test' })) : method(...args);
      },
    });
    const first = importRun(dying, target.blobs, pieces(lines), { ...move, leaseMs: 0 });
    await expect(first).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    expect(await importLines(target, lines)).toMatchObject({ head: 3 });
    expect(await target.readRun('r')).toMatchObject({ status: 'paused', head: 3 });
    expect((await verifyRun(target.store, target.blobs, await target.readRun('r'))).faults).toEqual([]);
  }
});

test('H4 another run under the id is left alone', async () => {
  const run = await writeSmall();
  const target = new ModelHistory();
  const other = await target.start('r');
  await expect(importLines(target, await exportLines(run))).rejects.toMatchObject({ code: 'RUN_EXISTS' });
  expect((await loadState(target.store, target.blobs, await other.row())).root).toEqual(other.state);
});

test('H4 a header that says other than the checkpoints is refused, since no checksum covers it', async () => {
  const [header, ...rest] = await exportLines(await writeSmall());
  const fields = JSON.parse(header!) as Record<string, unknown>;
  const wrong = {
    status: 'completed',
    graphHash: 'other',
    waits: [],
    meta: Buffer.from('{no json').toString('base64'),
  };
  for (const as of [move, copy]) {
    for (const [name, value] of Object.entries(wrong)) {
      const target = new ModelHistory();
      const lines = [`${JSON.stringify({ ...fields, [name]: value })}\n`, ...rest];
      await expect(importLines(target, lines, as)).rejects.toMatchObject({
        code: 'INPUT_INVALID',
        data: { path: 'line 1' },
      });
      expect((await target.store.listRuns({ tenant })).rows).toEqual([]);
    }
  }
});

test('H4 the index is told of waits by the state: an ended run has none that are open', async () => {
  const run = await writeSmall();
  const wait = { kind: 'question', node: ['n'], name: 'question', prompt: 'Really?' };
  const [header, ...rest] = await exportLines(run);
  const fields = JSON.parse(header!) as { waits: object[] };
  const body = Buffer.from(JSON.stringify({ ...wait, prompt: 'Altered?' })).toString('base64');
  const altered = `${JSON.stringify({ ...fields, waits: [{ ...fields.waits[0], body }] })}\n`;
  const target = new ModelHistory();
  await importLines(target, [altered, ...rest]);
  const [row] = (await target.store.listWaits({ tenant })).rows;
  expect(JSON.parse(Buffer.from(row!.body).toString())).toEqual(wait);
  await run.commit([['s', ['status'], 'failed']]);
  const ended = new ModelHistory();
  await importLines(ended, await exportLines(run));
  expect(await ended.readRun('r')).toMatchObject({ status: 'failed' });
  expect((await ended.store.listWaits({ tenant })).rows).toEqual([]);
});

test('C7 an export of a newer version is refused by name', async () => {
  const [header, ...rest] = await exportLines(await writeSmall());
  const newer = [header!.replace('"v":1', '"v":2'), ...rest];
  await expect(importLines(new ModelHistory(), newer)).rejects.toMatchObject({
    code: 'CHECKPOINT_VERSION_UNKNOWN',
    data: { version: 2, supported: 1 },
  });
});

test('P6 a damaged export is refused for what is wrong with it, or the run it makes has the states of the source', async () => {
  const source = await writeSmall();
  const text = (await exportLines(source)).join('');
  const refusals = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.nat(text.length - 1), fc.constantFrom('0', '"', '{', 'x', '\n', ''), async (at, put) => {
      fc.pre(text[at] !== put);
      const target = new ModelHistory();
      const damaged = text.slice(0, at) + put + text.slice(at + 1);
      const importing = importLines(target, [damaged]);
      const refusal = await importing.then(
        () => undefined,
        (error: unknown) => (CairnError.is(error) ? error.code : String(error)),
      );
      expect((await target.store.listRuns({ tenant })).rows).toHaveLength(refusal === undefined ? 1 : 0);
      // Names, tags and messages are not under a checksum; all that is a checkpoint or a blob is.
      if (refusal === undefined) await checkImported(source, target, await importing, source.head);
      else refusals.add(refusal);
    }),
    { numRuns: 400 },
  );
  refusals.delete('CHECKPOINT_VERSION_UNKNOWN');
  expect(refusals).toEqual(new Set(['CHECKPOINT_CORRUPT', 'INPUT_INVALID']));
}, 30_000);

async function writeFolded(): Promise<ModelRun> {
  const history = new ModelHistory();
  const run = await history.start('r');
  for (let i = 1; i <= 12; i++) await run.commit([['s', ['codeHash'], `${i}`]]);
  await history.store.tagCheckpoint(await run.row(), { name: 'mid', seq: 5 });
  await pruneRun(history.store, history.blobs, run.claim, await run.row(), { keepLast: 2 });
  return run;
}

test('H4 a pruned and folded history is imported without gaps showing, also in two tries', async () => {
  const run = await writeFolded();
  const lines = await exportLines(run);
  for (let dieAfter = 1; dieAfter <= 8; dieAfter++) {
    const target = new ModelHistory();
    let writes = 0;
    const gone = (): Promise<never> => Promise.reject(new CairnError('STORE_CLOSED', { store: 'test' }));
    const { store } = target;
    const dying = {
      ...store,
      removeRun: gone,
      releaseClaim: gone,
      commit: (commit: Parameters<typeof store.commit>[0]) => (++writes > dieAfter ? gone() : store.commit(commit)),
    };
    const first = importRun(dying, target.blobs, pieces(lines), { ...move, leaseMs: 0 });
    await expect(first).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    expect(await importLines(target, lines)).toMatchObject({ head: 12 });
    const row = await target.readRun('r');
    expect(row).toMatchObject({ head: 12, prunedBelow: 5, status: 'running' });
    const rows = await store.readCheckpoints(row, { from: 0, to: 12 });
    expect(rows.map(({ seq }) => seq)).toEqual([5, 10, 11, 12]);
    expect((await loadState(store, target.blobs, row)).root).toEqual(run.state);
    expect((await verifyRun(store, target.blobs, row)).faults).toEqual([]);
  }
});

test('O3 a half imported run that somebody holds is left to them', async () => {
  const run = await writeSmall();
  const lines = await exportLines(run);
  const target = new ModelHistory();
  const held = { ...target.store, commit: () => Promise.reject(new CairnError('STORE_FULL', { store: 'test' })) };
  const removed = { ...held, removeRun: () => Promise.resolve(), releaseClaim: () => Promise.resolve() };
  await expect(importRun(removed, target.blobs, pieces(lines), move)).rejects.toMatchObject({ code: 'STORE_FULL' });
  await expect(importLines(target, lines)).rejects.toMatchObject({ code: 'CLAIM_TAKEN', data: { owner: 'importer' } });
});

test('H4 what is no export is refused with the line', async () => {
  const [header, ...rest] = await exportLines(await writeSmall());
  const refuse = async (lines: readonly string[], path: string): Promise<void> =>
    expect(importLines(new ModelHistory(), lines)).rejects.toMatchObject({ code: 'INPUT_INVALID', data: { path } });
  await refuse([], 'line 1');
  await refuse(['[]\n'], 'line 1');
  await refuse(rest, 'line 1');
  await refuse(['{"cairn":"other"}\n'], 'line 1');
  await refuse(['{"cairn":"export","v":1}\n'], 'line 1');
  await refuse([header!, header!], 'line 2');
  await refuse([header!, '{"unknown":1}\n'], 'line 2');
  await refuse([header!, '{"checkpoint":0,"run":7}\n'], 'line 2');
  await refuse([header!, '{"message":"answer","name":"w1","body":"x","at":1}\n'], 'line 2');
  await refuse([header!, ...rest, '{"tag":"late","seq":0}\n'], `line ${rest.length + 2}`);
  await refuse([header!, ...rest.slice(0, -1), '{"end":3}\n'], `line ${rest.length + 1}`);
  const { as, tenant: owner, workerId } = copy;
  const target = new ModelHistory();
  await expect(importLines(target, [header!], { as, tenant: owner, workerId })).rejects.toMatchObject({
    code: 'USAGE_INVALID',
  });
});
