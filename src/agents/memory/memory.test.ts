/** Memory over sessions: what a resume sees, what is written under kills, and whose it is (A41 to A44). */
import { expect, test } from 'vitest';
import { afterCrash, createBench, edges, graphOf, node, resumeToRest, runToRest } from '../../../test/engine-kit.ts';
import type { MemoryConsistency } from '../../graph/contracts/memory-consistency.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import type { Graph } from '../../graph/graph.ts';
import { createScriptedModels } from '../../models/scripted.ts';
import type { Memories } from '../../ports/memories.ts';
import { createMemoryMemories } from '../../stores/memory/memory-memories.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { crashEverywhere } from '../../testing/crash-kit/crash-everywhere.ts';
import { agent } from '../agent.ts';
import { memoryTools, sessionMemory } from './session-memory.ts';
import { AgentGraph, END, START } from '../../index.ts';

const owner = { user: 'ada', session: 's' };
const contentsOf = async (memories: Memories, of = owner): Promise<readonly string[]> =>
  (await memories.read(of)).map(({ content }) => content);

/** One node that recalls, remembers, asks, and remembers again. */
function asking(memories: Memories, consistency: MemoryConsistency | undefined, ofGraph?: MemoryConsistency): Graph {
  const source = sessionMemory(memories, ofGraph === undefined ? {} : { consistency: ofGraph });
  const run = async (ctx: NodeContext): Promise<unknown> => {
    const memory = source.open(ctx, owner, consistency === undefined ? {} : { consistency });
    const known = (await memory.recall()).map(({ content }) => content);
    await memory.remember('asked');
    const answer = await ctx.ask({ prompt: 'Which?' });
    await memory.remember(`said ${String(answer)}`, 'done');
    return known;
  };
  return graphOf('g', [node('a', 'pure', run)], edges('> a', 'a >'));
}

test.each([
  ['live', ['before', 'asked', 'between']],
  ['snapshot', ['before']],
  ['journaled', ['before']],
] as const)('A43 in mode %s a resume sees %j, and each write is there once', async (consistency, seen) => {
  const memories = createMemoryMemories();
  await memories.write(owner, ['before'], 'x');
  const bench = createBench();
  const graph = asking(memories, consistency);
  const paused = await runToRest(bench.engine, graph, {}, 'r');
  await memories.write(owner, ['between'], 'y');
  const engine = afterCrash(bench);
  engine.know(graph);
  await engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
  expect((await resumeToRest(engine, 'r', graph)).state.outputs).toEqual({ a: seen });
  expect(await contentsOf(memories)).toEqual(['before', 'asked', 'between', 'said yes', 'done']);
});

test.each(['live', 'snapshot', 'journaled'] as const)(
  'A41 N6.4 a secret of the run is not remembered, in mode %s, also after a resume',
  async (consistency) => {
    const memories = createMemoryMemories();
    const source = sessionMemory(memories, { consistency });
    const secret = 'hunter2-planted';
    const run = async (ctx: NodeContext): Promise<unknown> => {
      const memory = source.open(ctx, owner);
      const key = await ctx.secrets.get('K');
      await memory.remember(`the key is ${key}`);
      await ctx.ask({ prompt: 'Go on?' });
      return memory.remember(`in base64: ${Buffer.from(key).toString('base64')}`);
    };
    const bench = createBench({ secrets: { read: () => secret } });
    const graph = graphOf('g', [node('a', 'pure', run)], edges('> a', 'a >'));
    const { waits } = await runToRest(bench.engine, graph, {}, 'r');
    await bench.engine.answer('r', waits[0]?.waitId ?? '', 'yes');
    expect((await resumeToRest(afterCrash(bench), 'r', graph)).status).toBe('completed');
    expect(await contentsOf(memories)).toEqual(['the key is [secret:K]', 'in base64: [secret:K]']);
  },
);

test('A43 a graph says how its nodes remember, and a node may say otherwise', async () => {
  for (const [ofGraph, ofNode, sees] of [
    ['live', undefined, true],
    ['snapshot', undefined, false],
    [undefined, undefined, false],
    ['snapshot', 'live', true],
    ['live', 'journaled', false],
  ] as const) {
    const memories = createMemoryMemories();
    const graph = asking(memories, ofNode, ofGraph);
    const bench = createBench();
    const paused = await runToRest(bench.engine, graph, {}, 'r');
    await memories.write(owner, ['between'], 'y');
    await bench.engine.answer('r', paused.waits[0]?.waitId ?? '', 'yes');
    const { state } = await resumeToRest(bench.engine, 'r', graph);
    expect((state.outputs['a'] as readonly string[]).includes('between')).toBe(sees);
  }
});

test('A43 memoryConsistency of a graph and of a node says how its nodes remember; it is part of the graph’s hash, and a mode that is none is refused', async () => {
  const sees = async (
    ofGraph: MemoryConsistency | undefined,
    ofNode: MemoryConsistency | undefined,
  ): Promise<unknown> => {
    const memories = createMemoryMemories();
    const source = sessionMemory(memories, { consistency: 'live' });
    const graph = new AgentGraph({}, { id: 'g', ...(ofGraph !== undefined && { memoryConsistency: ofGraph }) })
      .addNode(
        'a',
        async (ctx) => {
          const known = await source.open(ctx, owner).recall();
          await ctx.ask({ prompt: 'Which?' });
          return known.length;
        },
        ofNode === undefined ? {} : { memoryConsistency: ofNode },
      )
      .addEdge(START, 'a')
      .addEdge('a', END)
      .compile({ store: createMemoryStore() });
    const paused = await graph.invoke({});
    await memories.write(owner, ['between'], 'y');
    const done = await graph.resume(paused.runId, { answers: { [paused.waits[0]?.waitId ?? '']: 'yes' } });
    return [done.state.outputs.a, graph.graph.hash];
  };
  const [live, plainHash] = (await sees(undefined, undefined)) as readonly [unknown, unknown];
  const [ofGraph, graphHash] = (await sees('snapshot', undefined)) as readonly [unknown, unknown];
  const [ofNode] = (await sees('snapshot', 'live')) as readonly [unknown];
  const [ofBoth] = (await sees('live', 'journaled')) as readonly [unknown];
  expect([live, ofGraph, ofNode, ofBoth]).toEqual([1, 0, 1, 0]);
  expect(graphHash).not.toBe(plainHash);
  await expect(sees('sometimes' as never, undefined)).rejects.toThrow(/memoryConsistency/u);
  await expect(sees(undefined, 'sometimes' as never)).rejects.toThrow(/memoryConsistency/u);
});

test('A43 a fork of a journaled run takes its writes over, and one of a snapshot writes anew; neither reads its own words', async () => {
  for (const [consistency, writes] of [
    ['journaled', 1],
    ['snapshot', 2],
  ] as const) {
    const memories = createMemoryMemories();
    const source = sessionMemory(memories, { consistency });
    const seen: number[] = [];
    const run = async (ctx: NodeContext): Promise<unknown> => {
      const memory = source.open(ctx, owner);
      seen.push((await memory.recall()).length);
      await memory.remember('once');
      return ctx.state.scratch['n'] ?? 0;
    };
    const graph = graphOf('g', [node('a', 'pure', run)], edges('> a', 'a >'));
    const bench = createBench();
    await runToRest(bench.engine, graph, {}, 'r');
    await bench.engine.fork({ runId: 'r', seq: 0 }, { runId: 'f', set: [{ path: ['scratch', 'n'], value: 2 }] });
    await resumeToRest(bench.engine, 'f', graph);
    expect([consistency, await contentsOf(memories)]).toEqual([consistency, Array(writes).fill('once')]);
    expect([consistency, ...new Set(seen)]).toEqual([consistency, 0]);
  }
});

test.each(['live', 'snapshot', 'journaled'] as const)(
  'A43 P1 P2 killed at every point in mode %s, each write is there once',
  async (consistency) => {
    let memories = createMemoryMemories();
    const report = await crashEverywhere(
      {
        graph: () => asking(memories, consistency),
        input: {},
        answer: () => 'yes',
        // What a live read sees depends on what was written before the kill.
        ...(consistency === 'live' && { varies: ['outputs.a'], isScheduleFree: false }),
        inspect: async () => contentsOf(memories),
      },
      {
        open: (now) => {
          memories = createMemoryMemories();
          return { store: createMemoryStore({ now }) };
        },
      },
    );
    expect(report.faults).toEqual([]);
    expect(report.trials).toBeGreaterThan(5);
    expect(await contentsOf(memories)).toEqual(['asked', 'said yes', 'done']);
  },
);

test('A44 an agent remembers for later sessions, for the user of the run alone, whatever it says', async () => {
  const memories = createMemoryMemories();
  const source = sessionMemory(memories, { consistency: 'live' });
  const tools = memoryTools(source, {
    owner: ({ state }) => ({ user: (state.input as { readonly user: string }).user, session: '' }),
  });
  const models = createScriptedModels(({ messages }) => {
    const { content } = messages.at(-1) ?? { content: '' };
    if (typeof content !== 'string') return JSON.stringify(content);
    return {
      calls: [
        { tool: 'recall' },
        ...(content === 'Learn.' ? [{ tool: 'remember', input: { content: 'likes tea' } }] : []),
      ],
    };
  });
  const bench = createBench({ models });
  const run = async (user: string, prompt: string): Promise<unknown> => {
    const graph = graphOf('g', [{ id: 'a', ...agent({ model: 'm', prompt, tools }) }], edges('> a', 'a >'));
    const { state } = await runToRest(bench.engine, graph, { user });
    const told = JSON.parse(String(state.outputs['a'])) as readonly { readonly output: unknown }[];
    return told.map(({ output }) => output);
  };
  expect(await run('ada', 'Learn.')).toEqual([[], 'remembered']);
  expect(await run('ada', 'Help.')).toEqual([['likes tea']]);
  expect(await run('bob', 'Help.')).toEqual([[]]);
});

test('P6 a mode that is none, and an owner that is none, are refused', async () => {
  expect(() => sessionMemory(createMemoryMemories(), { consistency: 'sometimes' as never })).toThrow(/live, snapshot/u);
  const source = sessionMemory(createMemoryMemories());
  expect(() => source.open({} as NodeContext, { user: undefined as never, session: 's' })).toThrow(
    /a user and a session/u,
  );
});

test.each(['live', 'snapshot', 'journaled'] as const)(
  'X7.11 a fork that cannot act recalls what was recalled then and writes nothing, in mode %s',
  async (consistency) => {
    const memories = createMemoryMemories();
    await memories.write(owner, ['before'], 'x');
    const bench = createBench();
    const graph = asking(memories, consistency);
    const { waits } = await runToRest(bench.engine, graph, {}, 'r');
    await bench.engine.answer('r', waits[0]?.waitId ?? '', 'yes');
    const original = await resumeToRest(bench.engine, 'r', graph);
    await memories.write(owner, ['since'], 'y');
    const then = await contentsOf(memories);
    const { runId } = await bench.engine.fork({ runId: 'r', seq: 0 }, { effects: 'refuse', rerunPure: true, graph });
    const fork = await resumeToRest(bench.engine, runId, graph);
    const seen = [fork.waits.map(({ prompt }) => prompt), fork.state.outputs];
    expect(seen).toEqual(consistency === 'live' ? [['would read: a/memory recall'], {}] : [[], original.state.outputs]);
    const other = await bench.engine.fork({ runId: 'r', seq: 0 }, { effects: 'refuse', answers: { a: 'no' } });
    const { status } = await resumeToRest(bench.engine, other.runId, graph);
    expect(status).toBe(consistency === 'snapshot' ? 'completed' : 'paused');
    expect(await contentsOf(memories)).toEqual(then);
  },
);
