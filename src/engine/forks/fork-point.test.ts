import { expect, test } from 'vitest';
import { readHistory } from '../../history/load/load.ts';
import { createBench, edges, graphOf, node, rowOf, runToRest } from '../../../test/engine-kit.ts';
import { findForkPoint, type ForkPoint } from './fork-point.ts';
import type { Patch } from '../api.ts';

test('H2 the fork point is the checkpoint that was named, or the one before an outcome that is set was recorded, and says why', async () => {
  const bench = createBench();
  const names = ['a', 'b.x', 'c'];
  const graph = graphOf(
    'g',
    names.map((id) => node(id, 'read', () => id)),
    edges('> a', 'a > b.x', 'b.x > c', 'c >'),
    { policies: { checkpoint: 'every_node' } },
  );
  const { runId } = await runToRest(bench.engine, graph);
  const row = await rowOf(bench, runId);
  const at = new Map<string, number>();
  for await (const { checkpoint } of readHistory(bench.store, row, { from: 0, to: row.head }))
    for (const { kind, node: path = [] } of checkpoint.change)
      if (kind === 'settle') at.set(path.join('/'), checkpoint.seq);
  const blobs = bench.options.blobs;
  const find = (seq: number, ...paths: readonly (readonly string[])[]): Promise<ForkPoint> =>
    findForkPoint({ store: bench.store, blobs }, row, seq, { set: paths.map((path): Patch => ({ path, value: 1 })) });
  const [ofA = 0, ofB = 0] = names.map((name) => at.get(name));
  expect(ofA).toBeLessThan(ofB);
  expect(await find(row.head, ['scratch', 'n'])).toEqual({ from: row.head, meant: new Map() });
  expect(await find(row.head, ['outputs', 'b.x'])).toEqual({
    from: ofB - 1,
    meant: new Map(),
    because: `outputs.b\\.x was recorded at ${runId}@${ofB}`,
  });
  expect(await find(row.head, ['outputs', 'b.x'], ['outputs', 'a'])).toMatchObject({
    from: ofA - 1,
    because: `outputs.a was recorded at ${runId}@${ofA}`,
  });
  expect(await find(ofB - 1, ['outputs', 'b.x'])).toEqual({ from: ofB - 1, meant: new Map() });
  await expect(find(row.head + 1)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' });
});
