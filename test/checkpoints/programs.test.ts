/** Programs that were written for checkpoint stores, with another package's name in their imports: they run as they stand. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  InMemoryCheckpointStore,
  type Checkpoint,
  type CheckpointMetadata,
  type ICheckpointStore,
} from '../../src/app/checkpoint-store/index.ts';
import { AgentGraph, END, humanNode, outcome, START, toolNode, workflow } from '../../src/index.ts';
import type { GraphState } from '../../src/app/checkpoint-store/index.ts';

const state = { input: z.object({ topic: z.string() }), scratch: z.object({ confidence: z.number() }) };
const input = { topic: 'cairns' };

test('S7 effect classes are said where a tool is named, and a policy or a node asks for checkpoints', async () => {
  const called: string[] = [];
  const tool = (name: string) => ({ name, execute: () => Promise.resolve(called.push(name)) });
  const tools = {
    web_search: tool('web_search'),
    json_formatter: tool('json_formatter'),
    create_record: tool('create_record'),
  };
  const checkpointStore = new InMemoryCheckpointStore();
  const graph = new AgentGraph(state, { id: 'tools', checkpointPolicy: 'explicit' })
    .addNode('search', toolNode('web_search', {}, { effectClass: 'external' }))
    .addNode('format', toolNode('json_formatter', {}, { effectClass: 'pure' }), { checkpoint: 'after' })
    .addNode('create', toolNode('create_record', {}, { effectClass: 'write' }))
    .addEdge(START, 'search')
    .addEdge('search', 'format')
    .addEdge('format', 'create')
    .addEdge('create', END)
    .compile({ checkpointStore, tools });
  const { runId } = await graph.invoke(input);
  expect(called).toEqual(['web_search', 'json_formatter', 'create_record']);
  const { nodeResults } = (await checkpointStore.latest(runId))!;
  expect(Object.values(nodeResults).map(({ effectClass }) => effectClass)).toEqual(['external', 'pure', 'write']);
  expect((await checkpointStore.load(runId, 'format'))?.visitedNodes).toEqual(['search', 'format']);
});

test('S7 a run is resumed by the last checkpoint id that its stream told, of a graph and of a workflow', async () => {
  const graph = new AgentGraph(state, { checkpointPolicy: 'every_node' })
    .addNode('ask', humanNode({ prompt: 'Go on?', choices: ['yes'] }))
    .addEdge(START, 'ask')
    .addEdge('ask', END)
    .compile({
      checkpointStore: new InMemoryCheckpointStore(),
    });
  const steps = workflow('steps')
    .input(state.input)
    .step('ask', humanNode({ prompt: 'Go on?', choices: ['yes'] }))
    .returns(z.object({}))
    .compile({ checkpointStore: new InMemoryCheckpointStore() });

  for (const compiled of [graph, steps]) {
    // Capture the latest checkpoint id during streaming
    let lastCheckpointId: string | undefined;
    for await (const event of compiled.stream(input)) {
      if (event.type === 'checkpoint_saved') {
        lastCheckpointId = event.checkpointId; // present when a checkpoint was saved
      }
    }
    expect((await compiled.resume(lastCheckpointId)).status).toBe('paused');
    await compiled.answer(lastCheckpointId!, 'ask', 'yes');
    const result = await compiled.resume(lastCheckpointId);
    expect(result.status).toBe('completed');
  }
});

test('S7 a checkpoint names what routing passed by, and a fork of it takes the other way', async () => {
  const store = new InMemoryCheckpointStore();
  const graph = new AgentGraph(state, { id: 'my-graph-id', checkpointPolicy: 'every_node' })
    .addNode('judge', () => outcome({ scratch: { confidence: 0.2 } }))
    .addNode('search', () => 'searched again')
    .addNode('write', () => 'written')
    .addEdge(START, 'judge')
    .addConditionalEdge('judge', ({ state: { scratch } }) => ((scratch.confidence ?? 0) > 0.9 ? 'write' : 'search'), [
      'write',
      'search',
    ])
    .addEdge('search', END)
    .addEdge('write', END)
    .compile({ checkpointStore: store });
  const { runId: original } = await graph.invoke(input, { runId: 'run-abc' });
  expect((await store.latest(original))?.skippedNodes).toEqual(['write']);

  // List checkpoints for a graph to find the right branch point
  const checkpoints = await store.list('my-graph-id', { runId: 'run-abc' });
  // checkpoints: CheckpointMetadata[], sorted by timestamp descending
  const all = await Promise.all(checkpoints.map(({ id }) => store.get(id)));
  const judged = all.find((checkpoint) => checkpoint?.nodeId === 'judge')!;
  // Fork from checkpoint with patched state
  const newRunId = await store.fork(judged.id, {
    scratch: { confidence: 0.95 }, // override confidence so the loop exits
  });
  // Resume the forked run
  const result = await graph.resume(newRunId);
  expect(result.state.outputs).toMatchObject({ write: 'written' });
  expect((await store.latest(newRunId))?.skippedNodes).toEqual(['search']);
  expect((await graph.inspect(original)).state.outputs.write).toBeUndefined();
});

test('S7 a store of any kind is a class of seven methods', async () => {
  class OwnCheckpointStore implements ICheckpointStore {
    readonly rows = new Map<string, string>();
    async save(checkpoint: Checkpoint): Promise<void> {
      this.rows.set(checkpoint.id, JSON.stringify(checkpoint));
    }
    async get(checkpointId: string): Promise<Checkpoint | null> {
      return JSON.parse(this.rows.get(checkpointId) ?? 'null') as Checkpoint | null;
    }
    async load(runId: string, nodeId?: string): Promise<Checkpoint | null> {
      const all = [...this.rows.values()].map((row) => JSON.parse(row) as Checkpoint);
      return all.findLast((row) => row.runId === runId && (nodeId ?? row.nodeId) === row.nodeId) ?? null;
    }
    async latest(runId: string): Promise<Checkpoint | null> {
      return this.load(runId);
    }
    async list(_graphId: string, _options?: { limit?: number; runId?: string }): Promise<CheckpointMetadata[]> {
      return [];
    }
    async delete(checkpointId: string): Promise<void> {
      this.rows.delete(checkpointId);
    }
    async fork(checkpointId: string, patchState?: Partial<GraphState>): Promise<string> {
      const checkpoint = await this.get(checkpointId);
      if (!checkpoint) throw new Error(`Checkpoint ${checkpointId} not found`);
      const newCheckpoint: Checkpoint = {
        ...structuredClone(checkpoint),
        id: crypto.randomUUID(),
        runId: crypto.randomUUID(),
        timestamp: Date.now(),
        state: patchState ? { ...checkpoint.state, ...patchState } : checkpoint.state,
      };
      await this.save(newCheckpoint);
      return newCheckpoint.runId;
    }
  }
  const store = new OwnCheckpointStore();
  const open = () =>
    new AgentGraph(state, { id: 'own' })
      .addNode('ask', humanNode({ prompt: 'Go on?', choices: ['yes'] }))
      .addEdge(START, 'ask')
      .addEdge('ask', END)
      .compile({ checkpointStore: store });
  const { runId } = await open().invoke(input);
  const forked = await store.fork((await store.latest(runId))!.id, { scratch: { confidence: 1 } });
  const done = await open().resume(forked, { answers: { ask: 'yes' } });
  expect([done.status, done.state.scratch.confidence]).toEqual(['completed', 1]);
});
