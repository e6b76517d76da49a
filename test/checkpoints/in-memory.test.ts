/** Checkpoint stores behind a graph: saved whole, read back by another process, forked by the store itself. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { sessionMemory } from '../../src/agents/index.ts';
import { createMemoryMemories } from '../../src/stores/memory/index.ts';
import { AgentGraph, END, humanNode, outcome, START } from '../../src/index.ts';
import { InMemoryCheckpointStore, type ICheckpointStore } from '../../src/app/checkpoint-store/index.ts';

const sent: string[] = [];

/** As another process would have it: nothing but the checkpoint store is shared. */
const open = (checkpointStore: ICheckpointStore) =>
  new AgentGraph(
    { input: z.object({ topic: z.string() }), scratch: z.object({ confidence: z.number() }) },
    { id: 'my-graph-id', checkpointPolicy: 'every_node' },
  )
    .addNode('draft', ({ input }) => outcome({ output: `on ${input.topic}`, scratch: { confidence: 0.2 } }))
    .addNode('send', ({ idempotencyKey }) => sent.push(idempotencyKey), { effectClass: 'external' })
    .addNode('ask', humanNode({ prompt: 'Good?', choices: ['yes', 'no'] }))
    .addNode('judge', ({ state }) => ((state.scratch.confidence ?? 0) > 0.9 ? 'sure' : 'unsure'))
    .addEdge(START, 'draft')
    .addEdge('draft', 'send')
    .addEdge('send', 'ask')
    .addEdge('ask', 'judge')
    .addEdge('judge', END)
    .compile({ checkpointStore });

test('S7 each checkpoint is saved whole, and a run goes on from it where nothing else is left', async () => {
  const store = new InMemoryCheckpointStore();
  sent.length = 0;
  let last: string | undefined;
  let runId = '';
  for await (const event of open(store).stream({ topic: 'tea' }))
    if (event.type === 'checkpoint_saved') ({ checkpointId: last, runId } = event);
  expect(await store.get(last ?? '')).toMatchObject({
    graphId: 'my-graph-id',
    runId,
    state: { input: { topic: 'tea' }, scratch: { confidence: 0.2 } },
    nodeResults: {
      draft: { effectClass: 'pure', output: 'on tea' },
      send: { effectClass: 'external', output: 1 },
    },
    visitedNodes: ['draft', 'send'],
    skippedNodes: [],
    pendingEdges: ['send->ask'],
  });
  // By the checkpoint's id, by the run's, and each in a process of its own.
  expect((await open(store).resume(last ?? '')).status).toBe('paused');
  const done = await open(store).resume(runId, { answers: { ask: 'yes' } });
  expect([done.status, done.state.outputs.judge, sent.length]).toEqual(['completed', 'unsure', 1]);
  expect((await open(store).resume(runId)).state.outputs.ask).toBe('yes');
  expect((await store.latest(runId))?.visitedNodes).toEqual(['draft', 'send', 'ask', 'judge']);
});

test('S7 what a run has recalled of its memory is in its checkpoints, where a resume is given it again', async () => {
  const memories = createMemoryMemories();
  const owner = { user: 'ada', session: 's' };
  await memories.write(owner, ['likes tea'], 'x');
  for (const [consistency, reads] of [
    ['snapshot', [{ traceId: expect.stringContaining('greet/memory recall'), content: 'likes tea', strength: 1 }]],
    ['live', undefined],
  ] as const) {
    const store = new InMemoryCheckpointStore();
    const source = sessionMemory(memories, { consistency });
    const graph = () =>
      new AgentGraph({}, { id: 'g', checkpointPolicy: 'every_node' })
        .addNode('greet', async (ctx) => {
          const known = await source.open(ctx, owner).recall();
          await ctx.ask({ prompt: 'Go on?' });
          return known.length;
        })
        .addNode('end', () => 1)
        .addEdge(START, 'greet')
        .addEdge('greet', 'end')
        .addEdge('end', END)
        .compile({ checkpointStore: store });
    const { runId } = await graph().invoke({});
    expect((await store.latest(runId))?.memorySnapshot).toEqual(reads && { reads, pendingWrites: [] });
    expect((await store.list('g'))[0]?.hasMemorySnapshot).toBe(reads !== undefined);
    // It stays when the node has settled, whichever process goes on.
    const other = graph();
    const done = await other.resume(runId, { answers: { greet: 'yes' } });
    expect(done.status).toBe('completed');
    const listed = [];
    for await (const { readsMemory } of other.history.checkpoints()) listed.push(readsMemory === true);
    expect(listed.includes(true)).toBe(reads !== undefined);
    const last = await store.latest(runId);
    expect([last?.nodeId, last?.memorySnapshot]).toEqual(['end', reads && { reads, pendingWrites: [] }]);
  }
});

test('S7 what the checkpoint store forks goes on with what was changed there, and no effect is repeated', async () => {
  const store = new InMemoryCheckpointStore();
  sent.length = 0;
  const { runId } = await open(store).invoke({ topic: 'tea' });
  await open(store).resume(runId, { answers: { ask: 'yes' } });
  const checkpoints = await store.list('my-graph-id', { runId });
  const paused = (await Promise.all(checkpoints.map(({ id }) => store.get(id)))).findLast(
    (checkpoint) => checkpoint?.nodeId === 'ask' && !checkpoint.visitedNodes.includes('ask'),
  );
  const forked = await store.fork(paused?.id ?? '', { scratch: { confidence: 0.95 } });
  const result = await open(store).resume(forked, { answers: { ask: 'no' } });
  expect([result.runId, result.status, result.state.outputs.judge]).toEqual([forked, 'completed', 'sure']);
  expect(sent).toHaveLength(1);
  expect((await open(store).inspect(runId)).state.outputs.judge).toBe('unsure');
});

test('S7 a run that is saved is not begun again, and no effect begins before its intent is saved', async () => {
  const store = new InMemoryCheckpointStore();
  sent.length = 0;
  await open(store).invoke({ topic: 'tea' }, { runId: 'r' });
  await open(store).invoke({ topic: 'tea' }, { runId: 'r' });
  expect(sent).toHaveLength(1);
  const refusing: ICheckpointStore = Object.assign(Object.create(store) as ICheckpointStore, {
    latest: () => Promise.resolve(null),
    get: () => Promise.resolve(null),
    save: () => Promise.reject(new Error('the disk is full')),
  });
  await expect(open(refusing).invoke({ topic: 'tea' }, { runId: 'other' })).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringContaining('the disk is full') as string,
  });
  expect(sent).toHaveLength(1);
});

test('S7 a patch of a fork replaces partitions whole, and what the store shows of the fork is what runs', async () => {
  const seen: unknown[] = [];
  const make = (checkpointStore: ICheckpointStore) =>
    new AgentGraph(
      {
        input: z.object({ topic: z.string(), tone: z.string().optional() }),
        scratch: z.object({ confidence: z.number(), note: z.string() }),
      },
      { id: 'whole', checkpointPolicy: 'every_node' },
    )
      .addNode('draft', () => outcome({ output: 'text', scratch: { confidence: 0.2, note: 'old' } }))
      .addNode('ask', humanNode({ prompt: 'Good?', choices: ['yes', 'no'] }))
      .addNode('judge', ({ state }) => {
        seen.push({ input: { ...state.input }, scratch: { ...state.scratch } });
        return 'done';
      })
      .addEdge(START, 'draft')
      .addEdge('draft', 'ask')
      .addEdge('ask', 'judge')
      .addEdge('judge', END)
      .compile({ checkpointStore });
  const store = new InMemoryCheckpointStore();
  const { runId } = await make(store).invoke({ topic: 'tea', tone: 'dry' });
  const paused = await store.latest(runId);
  const patch = { input: { topic: 'coffee' }, scratch: { confidence: 0.95 } };
  const forked = await store.fork(paused?.id ?? '', patch);
  expect((await store.latest(forked))?.state).toMatchObject(patch);
  expect((await store.latest(forked))?.state.scratch).toEqual(patch.scratch);
  const done = await make(store).resume(forked, { answers: { ask: 'yes' } });
  expect([done.status, seen]).toEqual(['completed', [patch]]);
  expect((await store.latest(forked))?.state).toMatchObject(patch);
  expect((await store.latest(forked))?.state.scratch).toEqual(patch.scratch);
});
