import { expect, test } from 'vitest';
import { createMemoryBlobs } from '../../blobs/memory-blobs.ts';
import { createBench, edges, graphOf, node, runToRest } from '../../../test/engine-kit.ts';

test('H3 every engine keeps the structure of a graph in its own blob store', async () => {
  const graph = graphOf('g', [node('a', 'pure', () => 1)], edges('> a', 'a >'));
  for (const blobs of [createMemoryBlobs(), createMemoryBlobs()]) {
    const { engine, store } = createBench({ blobs });
    const { runId } = await runToRest(engine, graph);
    const run = await store.readRun({ tenant: 'default', runId });
    const { structure } = JSON.parse(new TextDecoder().decode(run?.meta)) as { structure: string };
    const kept = await blobs.get('default', structure);
    expect(JSON.parse(new TextDecoder().decode(kept))).toMatchObject({ id: 'g' });
  }
});
