/** Files as values: their bytes lie beside the state, are counted by whoever counts references, and are read on demand. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import {
  afterCrash,
  createBench,
  edges,
  graphOf,
  node,
  resumeToRest,
  rowOf,
  runToRest,
} from '../../../test/engine-kit.ts';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import { FileRef } from '../../graph/file-ref.ts';
import { collectBlobs } from '../../history/retention/collect-blobs.ts';
import { exportRun } from '../../history/export-import/export.ts';
import { importRun } from '../../history/export-import/import.ts';
import { loadState } from '../../history/load/load.ts';
import { listBlobs } from '../../history/stored/checkpoint.ts';
import { verifyRun } from '../../history/verify/verify.ts';
import type { BlobStore } from '../../ports/blobs.ts';
import { createMemoryStore } from '../../stores/memory/memory-store.ts';

const day = 24 * 3_600_000;
const bytes = new TextEncoder().encode('%PDF');
const about = { name: 'report.pdf', type: 'application/pdf' };

/** Blobs that tell which of them were read. */
function watchedBlobs(now: () => number = () => 0): BlobStore & { readonly read: string[] } {
  const blobs = createMemoryBlobs(now);
  const read: string[] = [];
  return { ...blobs, read, get: (tenant, hash) => (read.push(hash), blobs.get(tenant, hash)) };
}

const chain = (padding: string) =>
  graphOf(
    'g',
    [
      node('write', 'read', async (ctx) => ({ padding, files: [await ctx.files.put(bytes, about)] })),
      node('wait', 'human', (ctx) => ctx.receive('go')),
      node('show', 'read', async (ctx) => {
        const { files } = ctx.state.outputs['write'] as { readonly files: readonly FileRef[] };
        const texts = files.map(async (file) => new TextDecoder().decode(await ctx.files.get(file)));
        return { files, texts: await Promise.all(texts) };
      }),
    ],
    edges('> write', 'write > wait', 'wait > show', 'show >'),
  );

test.each([
  ['in the state', ''],
  ['inside a value that is kept as a blob', 'x'.repeat(5_000)],
])('C5 a file %s is stored once, not read with the state, and goes along with an export', async (_, padding) => {
  const blobs = watchedBlobs();
  const bench = createBench({ blobs, bounds: { inlineBytes: 1_000 } });
  const graph = chain(padding);
  await runToRest(bench.engine, graph, {}, 'r');
  const engine = afterCrash(bench);
  await engine.signal('r', 'go', 1);
  const run = await rowOf(bench, 'r');
  const { root } = await loadState(bench.store, blobs, run);
  const { output } = root.frame.nodes['write'] ?? {};
  const { files } = output as { readonly files: readonly FileRef[] };
  const [file] = files;
  expect(file).toBeInstanceOf(FileRef);
  expect(file).toMatchObject({ ...about, sizeBytes: 4 });
  const hash = String(file?.hash);
  expect(blobs.read).not.toContain(hash);
  expect((await verifyRun(bench.store, blobs, run)).faults).toEqual([]);
  expect(blobs.read).toContain(hash);
  const lines: string[] = [];
  for await (const line of exportRun(bench.store, blobs, run)) lines.push(line);
  expect(lines.filter((line) => line.includes(`"blob":"${hash}"`))).toHaveLength(1);
  const other = createBench({ bounds: { inlineBytes: 1_000 } });
  const pieces = async function* () {
    yield* lines;
  };
  await importRun(other.store, other.options.blobs, pieces(), { tenant: 'default', as: 'move', workerId: 'w' });
  const result = await resumeToRest(other.engine, 'r', graph);
  expect(result.state.outputs['show']).toEqual({ files, texts: ['%PDF'] });
});

test('C5 the collector keeps a file that only a value kept as a blob names, or only a message, and takes it when both are gone', async () => {
  let nowMs = 0;
  const blobs = createMemoryBlobs(() => nowMs);
  const bench = createBench({ blobs, bounds: { inlineBytes: 1_000 } });
  await runToRest(bench.engine, chain('x'.repeat(5_000)), {}, 'r');
  const sent = await bench.engine.files.put(new TextEncoder().encode('sent'), about);
  await bench.engine.signal('r', 'other', { sent });
  const lost = await bench.engine.files.put(new TextEncoder().encode('lost'), about);
  nowMs += 2 * day;
  const files = async (): Promise<readonly boolean[]> => {
    const hashes = [createHash('sha256').update(bytes).digest('hex'), sent.hash, lost.hash];
    return Promise.all(hashes.map((hash) => blobs.has('default', hash)));
  };
  await collectBlobs(bench.store, blobs, 'default', new Map(), true);
  expect(await files()).toEqual([true, true, false]);
  await bench.store.removeRun({ tenant: 'default', runId: 'r' });
  await collectBlobs(bench.store, blobs, 'default', new Map(), true);
  expect(await files()).toEqual([false, false, false]);
});

test('C5 a file that is gone is told by verify, and the state loads without it', async () => {
  const blobs = watchedBlobs();
  const bench = createBench({ blobs });
  await runToRest(bench.engine, chain(''), {}, 'r');
  const run = await rowOf(bench, 'r');
  const lost: BlobStore = { ...blobs, get: (tenant, hash) => createMemoryBlobs().get(tenant, hash) };
  await expect(loadState(bench.store, lost, run)).resolves.toMatchObject({ seq: run.head });
  const { faults } = await verifyRun(bench.store, lost, run);
  expect(faults.map(({ code }) => code)).toContain('BLOB_NOT_FOUND');
});

test('C5 whoever counts references finds files at any depth, and takes no text of a user for one', () => {
  const hash = 'a'.repeat(64);
  const tag = { $: 'file', hash, name: 'x', type: 'y', sizeBytes: 1 };
  const blob = { $: 'blob', hash: 'b'.repeat(64), sizeBytes: 9, files: ['c'.repeat(64)] };
  expect(listBlobs({ a: [{ b: tag }], m: { $: 'map', v: [['k', blob]] } })).toEqual(
    new Set([hash, 'b'.repeat(64), 'c'.repeat(64)]),
  );
  const escaped = { $: { $: 'text', v: 'file' }, hash, text: JSON.stringify(tag) };
  expect(listBlobs(escaped)).toEqual(new Set());
});

test('C5 a file from outside must be in the tenant, and is made young when it is taken', async () => {
  let nowMs = 0;
  const blobs = createMemoryBlobs(() => nowMs);
  const store = createMemoryStore();
  const bench = createBench({ blobs, store });
  const elsewhere = createBench({ blobs, store, tenant: 'other' });
  const graph = graphOf(
    'g',
    [node('q', 'human', (ctx) => ctx.ask({ prompt: 'Which?' })), node('s', 'human', (ctx) => ctx.receive('go'))],
    edges('> q', 'q > s', 's >'),
  );
  const foreign = await elsewhere.engine.files.put(bytes, about);
  const refused = { code: 'FILE_NOT_FOUND', data: { name: 'report.pdf', hash: foreign.hash } };
  const { engine } = bench;
  await expect(engine.start(graph, { file: foreign }, { runId: 'no' })).rejects.toMatchObject(refused);
  expect(await store.readRun({ tenant: 'default', runId: 'no' })).toBeUndefined();
  const paused = await runToRest(engine, graph, { n: 1 }, 'r');
  const waitId = String(paused.waits[0]?.waitId);
  const outside: readonly ((file: FileRef) => Promise<unknown>)[] = [
    (file) => engine.fork({ runId: 'r', seq: 1 }, { set: [{ path: ['scratch', 'f'], value: file }] }),
    (file) => engine.fork({ runId: 'r', seq: 1 }, { set: [{ path: ['input', 'f'], value: [new Map([[1, file]])] }] }),
    (file) => engine.signal('r', 'go', { file }),
    (file) => engine.answer('r', waitId, { file }),
  ];
  for (const send of outside) await expect(send(foreign)).rejects.toMatchObject(refused);
  expect(await store.readMessages({ tenant: 'default', runId: 'r' })).toEqual([]);
  const own = await engine.files.put(bytes, about);
  for (const send of [...outside, (file: FileRef) => engine.start(graph, { file }, { runId: 'yes' })]) {
    nowMs += 2 * day;
    await send(own);
    expect(await blobs.remove('default', own.hash, day)).toBe(false);
    expect([String(send), await blobs.has('default', own.hash)]).toEqual([String(send), true]);
  }
});

test('C2 a reference is refused if its parts are none, and one of another copy of the library is taken', () => {
  const parts = { hash: 'a'.repeat(64), name: 'x', type: 'y', sizeBytes: 1 };
  for (const wrong of [{ hash: '../x' }, { name: 7 }, { sizeBytes: -1 }, { sizeBytes: 0.5 }, { type: undefined }])
    expect(() => new FileRef({ ...parts, ...wrong } as unknown as FileRef)).toThrow('a file reference has');
  const foreign: unknown = Object.assign(Object.create({ [Symbol.for('cairn.file')]: true }) as object, parts);
  expect(foreign).toBeInstanceOf(FileRef);
});
