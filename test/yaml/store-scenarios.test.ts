/** Checkpoints in stores: the scenarios of the first phase, on workflows. */
import { describe, expect, test } from 'vitest';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { loadState } from '../../src/history/load/load.ts';
import { admitValue } from '../../src/state/values/admit.ts';
import { decodeJson } from '../../src/state/values/revive.ts';
import { encodeValue } from '../../src/state/values/encode.ts';
import { defaultBounds } from '../../src/engine/bounds.ts';
import { outputsOf, yamlBench } from '../yaml-bench.ts';

const roundTrip = (value: unknown): unknown =>
  decodeJson(encodeValue(admitValue(value, ['value'], defaultBounds, undefined).value));

const oneBlock = (name: string): string => `
name: ${name}
inputs: { data: { type: str, default: value } }
blocks:
  - { id: echo, type: EchoBlock, inputs: { message: "\${data}" } }
outputs: { said: "\${echo.echoed}" }
`;

describe('serialization', () => {
  test('C2 test_serialize_basic_types: texts, numbers, booleans and lists come back as they were', () => {
    const context = { str: 'value', int: 42, bool: true, list: [1, 2] };
    expect(roundTrip(context)).toEqual(context);
  });

  test('C2 test_serialize_path_objects: a URL stays a URL, where others made a text of it', () => {
    expect(roundTrip({ path: new URL('file:///tmp/test') })).toEqual({ path: new URL('file:///tmp/test') });
  });

  test('C2 test_serialize_datetime_objects: a date stays a date', () => {
    const now = new Date('2026-02-03T04:05:06.789Z');
    expect(roundTrip({ timestamp: now })).toEqual({ timestamp: now });
  });

  test('C2 test_skip_executor_reference: what cannot be stored is refused by its path, and never left out in silence', () => {
    class Executor {
      readonly name = 'executor';
    }
    expect(() => roundTrip({ data: 'value', executor: new Executor() })).toThrow(
      expect.objectContaining({ code: 'VALUE_UNSTORABLE', message: expect.stringContaining('executor') }),
    );
  });

  test('C5 test_checkpoint_size_validation: an outcome over the limit fails loudly, before it is written, naming what is large', async () => {
    const bench = yamlBench();
    const result = await bench.start(`
name: large
checkpoint: { max_checkpoint_size_mb: 0.1 }
blocks:
  - id: make
    type: Shell
    effect: read
    inputs: { command: "head -c 300000 /dev/zero | tr '\\\\0' x" }
`);
    expect(result).toMatchObject({ status: 'failed', failed: ['make'] });
    expect(JSON.stringify(result.error?.cause ?? result.error)).toContain('CHECKPOINT_TOO_LARGE');
    expect(String((result.error?.cause as Error | undefined)?.message ?? result.error?.message)).toContain('stdout');
  });
});

describe('store', () => {
  test('H1 test_save_and_load_checkpoint: a checkpoint is there after it was saved', async () => {
    const { start, store, options } = yamlBench();
    const { runId, seq } = await start(oneBlock('saved'));
    const run = await store.readRun({ tenant: 'default', runId });
    const { root } = await loadState(store, options.blobs, run as never);
    expect(run).toMatchObject({ head: seq, status: 'completed' });
    expect(root.frame.nodes['echo']?.output).toMatchObject({ echoed: 'Echo: value' });
  });

  test('S4 test_list_checkpoints_filter_by_workflow: runs are listed by their workflow', async () => {
    const { start, store } = yamlBench();
    for (const name of ['workflow-a', 'workflow-a', 'workflow-b']) await start(oneBlock(name));
    const list = async (graphId?: string): Promise<number> =>
      (await store.listRuns({ tenant: 'default', ...(graphId !== undefined && { graphId }) })).rows.length;
    expect([await list(), await list('workflow-a'), await list('workflow-b')]).toEqual([3, 2, 1]);
  });

  test('S3 test_concurrent_access: runs side by side are all kept', async () => {
    const { start, store } = yamlBench();
    const names = Array.from({ length: 30 }, (_, index) => `${'abc'[index % 3]}_${index}`);
    const results = await Promise.all(names.map((runId) => start(oneBlock('side-by-side'), {}, { runId })));
    expect(results.every((result) => result.status === 'completed')).toBe(true);
    expect((await store.listRuns({ tenant: 'default', limit: 100 })).rows.map(({ runId }) => runId).toSorted()).toEqual(
      names.toSorted(),
    );
  });

  test('C6 test_checkpoint_corruption: a blob that is gone is named', async () => {
    const blobs = createMemoryBlobs();
    const bench = yamlBench([], { blobs });
    const { runId } = await bench.start(oneBlock('blobs'));
    const elsewhere = yamlBench([], { blobs: createMemoryBlobs(), store: bench.store });
    await expect(elsewhere.engine.inspect(runId)).rejects.toMatchObject({
      code: expect.stringMatching(/BLOB|CORRUPT/),
    });
    expect(outputsOf(await bench.engine.inspect(runId))).toEqual({ said: 'Echo: value' });
  });
});
