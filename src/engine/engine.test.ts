import { expect, test } from 'vitest';
import { createMemoryBlobs } from '../blobs/memory-blobs.ts';
import { compileGraph } from '../graph/compile-graph.ts';
import { END, START, type NodeDefinition } from '../graph/graph.ts';
import { outcome, type NodeContext } from '../graph/node-contract.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import { createMemoryStore } from '../stores/memory/memory-store.ts';
import { createEngine } from './engine.ts';

const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer: (ms, fn) => {
    const t = setTimeout(fn, ms);
    return () => clearTimeout(t);
  },
  defer: (fn) => void setImmediate(fn),
};
let n = 0;
const ids: Ids = {
  createRunId: () => `run-${(n += 1)}`,
  workerId: 'w1',
  random: () => 0.5,
  isWorkerDead: () => undefined,
};
const node = (id: string, run: (ctx: NodeContext) => unknown, more: Partial<NodeDefinition> = {}): NodeDefinition => ({
  id,
  type: 'function',
  effect: 'pure',
  implementation: { run },
  ...more,
});

test('E1 a chain runs to its end', async () => {
  const engine = createEngine({ store: createMemoryStore(), blobs: createMemoryBlobs(), clock, ids });
  const graph = compileGraph({
    id: 'g',
    nodes: [
      node('a', () => outcome({ output: 1, scratch: { x: 1 } })),
      node('b', (ctx) => (ctx.state.scratch['x'] as number) + 1, { effect: 'write' }),
    ],
    edges: [
      { from: START, to: 'a' },
      { from: 'a', to: 'b' },
      { from: 'b', to: END },
    ],
  });
  const handle = await engine.start(graph, { topic: 't' });
  const result = await handle.result();
  expect(result.status).toBe('completed');
  expect(result.state.outputs['b']).toBe(2);
});

test('W2 a question pauses the run and its answer resumes it', async () => {
  const engine = createEngine({ store: createMemoryStore(), blobs: createMemoryBlobs(), clock, ids });
  const graph = compileGraph({
    id: 'g2',
    nodes: [
      node('ask', async (ctx) => ctx.ask({ prompt: 'ok?' }), { effect: 'human' }),
      node('b', (ctx) => ctx.state.outputs['ask'], { effect: 'external' }),
    ],
    edges: [
      { from: START, to: 'ask' },
      { from: 'ask', to: 'b' },
      { from: 'b', to: END },
    ],
  });
  const paused = await (await engine.start(graph, {})).result();
  expect(paused.status).toBe('paused');
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
  const done = await (await engine.resume(paused.runId, { graph })).result();
  expect(done.status).toBe('completed');
  expect(done.state.outputs['b']).toBe('yes');
});

test('X4 a map of steps records each item', async () => {
  const engine = createEngine({ store: createMemoryStore(), blobs: createMemoryBlobs(), clock, ids });
  const graph = compileGraph({
    id: 'g3',
    nodes: [
      node(
        'm',
        async (ctx) => Promise.all([1, 2, 3].map((i) => ctx.step(`i${i}`, { effect: 'write', input: i }, () => i * 2))),
        { effect: 'read' },
      ),
    ],
    edges: [
      { from: START, to: 'm' },
      { from: 'm', to: END },
    ],
  });
  const done = await (await engine.start(graph, {})).result();
  expect(done.status).toBe('completed');
  expect(done.state.outputs['m']).toEqual([2, 4, 6]);
});
