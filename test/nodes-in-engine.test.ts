/** The nodes on the real engine: what no fake context can show. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../src/app/process/system-clock.ts';
import { createMemoryBlobs } from '../src/blobs/memory-blobs.ts';
import type { Engine } from '../src/engine/api.ts';
import { createEngine } from '../src/engine/engine.ts';
import { compileGraph } from '../src/graph/compile/compile-graph.ts';
import { END, START, type Graph } from '../src/graph/graph.ts';
import { NodeFailure } from '../src/graph/contracts/node-contract.ts';
import {
  fileNode,
  functionNode,
  guardrailNode,
  humanNode,
  mapNode,
  routerNode,
  shellNode,
  subgraphNode,
  type NodeDraft,
} from '../src/nodes/builders.ts';
import type { Store } from '../src/ports/store.ts';
import { createMemoryStore } from '../src/stores/memory/memory-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-engine-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let runs = 0;
function openEngine(store: Store = createMemoryStore()): Engine {
  return createEngine({
    store,
    blobs: createMemoryBlobs(),
    clock: systemClock,
    ids: { createRunId: () => `run-${(runs += 1)}`, workerId: 'w', random: () => 0.5, isWorkerDead: () => undefined },
    secrets: { read: (name) => (name === 'TOKEN' ? 't-s3cret' : undefined) },
  });
}

/** Nodes one after another, by id. */
function chain(nodes: Readonly<Record<string, NodeDraft>>): Graph {
  const ids = Object.keys(nodes);
  const stops = [START, ...ids, END];
  return compileGraph({
    id: 'chain',
    nodes: ids.map((id) => ({ ...(nodes[id] as NodeDraft), id })),
    edges: stops.slice(1).map((to, index) => ({ from: stops[index] ?? '', to })),
  });
}

test('N2 N18 values go from node to node, into a program and into a file', async () => {
  const graph = chain({
    shout: shellNode({
      command: 'tr a-z A-Z; printf "%s" "$1"',
      args: [({ state }) => state.input as string],
      input: ({ state }) => state.input as string,
    }),
    save: fileNode({
      action: 'write',
      root: folder,
      path: 'out.txt',
      content: ({ state }) => (state.outputs['shout'] as { stdout: string }).stdout,
    }),
    load: fileNode({
      action: 'read',
      root: folder,
      path: ({ state }) => (state.outputs['save'] as { path: string }).path,
    }),
  });
  const result = await (await openEngine().start(graph, '$(date)')).result();
  expect(result.error).toBeUndefined();
  expect(result.state.outputs['load']).toBe('$(DATE)$(date)');
  expect(readFileSync(join(folder, 'out.txt'), 'utf8')).toBe('$(DATE)$(date)');
});

test('N14 a resume runs only the items that are missing or failed, and the outputs keep their order', async () => {
  const calls: number[] = [];
  let isBroken = true;
  const graph = chain({
    all: mapNode({
      over: ({ state: { input } }) => input as readonly number[],
      concurrency: 1,
      effectClass: 'external',
      idempotent: true,
      each: ({ item }) => {
        calls.push(item);
        if (item === 2 && isBroken) throw new Error('not yet');
        return item * 10;
      },
    }),
  });
  const engine = openEngine();
  const failed = await (await engine.start(graph, [0, 1, 2, 3])).result();
  expect([failed.status, calls]).toEqual(['failed', [0, 1, 2]]);
  isBroken = false;
  const done = await (await engine.resume(failed.runId, { graph })).result();
  expect([done.status, calls]).toEqual(['completed', [0, 1, 2, 2, 3]]);
  expect(done.state.outputs['all']).toEqual([0, 10, 20, 30]);
});

test('N15 the list of outputs is what later nodes see, and a thousand items are all there', async () => {
  const graph = chain({
    all: mapNode({
      over: ({ state }) => Array.from({ length: state.input as number }, (_, index) => index),
      each: ({ item }) => item,
    }),
    sum: functionNode(({ state }) => (state.outputs['all'] as number[]).reduce((sum, item) => sum + item, 0)),
  });
  const result = await (await openEngine().start(graph, 1_000)).result();
  expect(result.state.outputs['sum']).toBe(499_500);
});

test('N13 a question in a child pauses the parent, and its answer comes up as the output', async () => {
  const child = chain({
    ask: humanNode({ prompt: ({ state }) => `Ship ${String(state.input)}?`, outputAs: 'decision' }),
  });
  const graph = chain({ review: subgraphNode(child, { input: ({ state }) => (state.input as string[])[0] }) });
  const engine = openEngine();
  const paused = await (await engine.start(graph, ['v1'])).result();
  expect([paused.status, paused.waits.map(({ prompt }) => prompt)]).toEqual(['paused', ['Ship v1?']]);
  await engine.answer(paused.runId, paused.waits[0]?.waitId ?? '', 'yes');
  const done = await (await engine.resume(paused.runId, { graph })).result();
  expect([done.status, done.state.outputs['review']]).toEqual(['completed', { decision: 'yes' }]);
});

test('N11 N12 routers and guardrails fire the edges they name, and a target without an edge fails the run', async () => {
  const mark = (id: string): NodeDraft & { id: string } => ({ ...functionNode(() => id), id });
  const build = (target: string): Graph =>
    compileGraph({
      id: 'routes',
      nodes: [
        {
          ...guardrailNode({
            check: ({ state }) => state.input === 'ok',
            onViolation: 'reroute',
            rerouteTarget: 'mend',
          }),
          id: 'guard',
        },
        { ...routerNode(() => target), id: 'route' },
        mark('mend'),
        mark('left'),
        mark('right'),
      ],
      edges: [
        { from: START, to: 'guard' },
        { from: 'guard', to: 'route' },
        { from: 'guard', to: 'mend', condition: { text: 'never', evaluate: () => false } },
        { from: 'route', to: 'left' },
        { from: 'route', to: 'right' },
      ],
    });
  const outputsOf = async (target: string, input: string): Promise<string[]> => {
    const result = await (await openEngine().start(build(target), input)).result();
    return [result.status, ...Object.keys(result.state.outputs).toSorted()];
  };
  expect(await outputsOf('right', 'ok')).toEqual(['completed', 'guard', 'right', 'route']);
  expect(await outputsOf('right', 'bad')).toEqual(['completed', 'guard', 'mend']);
  expect((await outputsOf('nowhere', 'ok'))[0]).toBe('failed');
});

test('N5 N21 a program that runs out of time is killed, and the run says so', async () => {
  const graph = chain({ sleep: shellNode({ command: ['sleep', '600'], timeoutMs: 20, killGraceMs: 20 }) });
  const result = await (await openEngine().start(graph, {})).result();
  expect([result.status, result.error?.code, (result.error?.cause as { code?: string } | undefined)?.code]).toContain(
    'NODE_TIMED_OUT',
  );
});

test.each(['pure', 'read', 'write'] as const)(
  'X4 outputs of a map of %s items with keys of their own come in the order of the items, whichever ends or fails first',
  async (effectClass) => {
    const keys = ['a', 'b', 'c', 'd'];
    let isSick = true;
    const each = async ({ item }: { readonly item: unknown }): Promise<unknown> => {
      // The first ends last.
      for (let turn = keys.indexOf(String(item)); turn < keys.length; turn += 1) await new Promise(setImmediate);
      if (isSick && item === 'b') throw new NodeFailure('not yet', { applied: 'no' });
      return String(item).toUpperCase();
    };
    const graph = chain({ all: mapNode({ over: () => keys, key: ({ item }) => item, effectClass, each }) });
    const engine = openEngine();
    const failed = await (await engine.start(graph, {}, { runId: effectClass })).result();
    isSick = false;
    const done = await (await engine.resume(effectClass, { graph })).result();
    const whole = await (await engine.start(graph, {})).result();
    expect([failed.status, done.status]).toEqual(['failed', 'completed']);
    expect([done.state.outputs['all'], whole.state.outputs['all']]).toEqual([
      ['A', 'B', 'C', 'D'],
      ['A', 'B', 'C', 'D'],
    ]);
  },
);

test('W3 a question whose schema is one of Zod is kept with its JSON Schema, by the node and by ctx.ask', async () => {
  const form = z.object({
    ok: z.boolean(),
    tags: z.record(z.string().min(2), z.number()),
    why: z.string().default('-'),
  });
  const graph = chain({
    ask: humanNode({ prompt: 'Fine?', schema: form }),
    more: functionNode((ctx) => ctx.ask({ prompt: 'How many?', schema: z.int().positive() }), { effectClass: 'human' }),
  });
  const store = createMemoryStore();
  const { runId, waits } = await (await openEngine(store).start(graph, 1)).result();
  expect(waits[0]?.schema).toMatchObject({ type: 'object', required: ['ok', 'tags'] });

  // This engine does not know the graph.
  const other = openEngine(store);
  const refused = async (waitId: string, answer: unknown): Promise<unknown> =>
    other.answer(runId, waitId, answer).catch((error: unknown) => error);
  const first = waits[0]?.waitId ?? '';
  expect(await refused(first, { ok: 'yes', tags: {} })).toMatchObject({ code: 'ANSWER_INVALID' });
  expect(await refused(first, { ok: true, tags: { a: 1 } })).toMatchObject({
    code: 'ANSWER_INVALID',
    message: expect.stringContaining('the name of answer.tags.a is shorter than 2') as string,
  });
  const answer = { ok: true, tags: { ab: 1 } };
  await other.answer(runId, first, answer);
  const second = await (await openEngine(store).resume(runId, { graph })).result();
  expect(await refused(second.waits[0]?.waitId ?? '', 1.5)).toMatchObject({ code: 'ANSWER_INVALID' });
  await other.answer(runId, second.waits[0]?.waitId ?? '', 3);
  const { state } = await (await openEngine(store).resume(runId, { graph })).result();
  expect(state.outputs).toEqual({ ask: answer, more: 3 });
});

test('W3 a schema that has no JSON Schema is refused before anything is asked', async () => {
  expect(() => humanNode({ prompt: '?', schema: z.date() })).toThrow(/humanNode: schema has no JSON Schema: Date/);
  const graph = chain({
    a: functionNode((ctx) => ctx.ask({ prompt: '?', schema: z.date() }), { effectClass: 'human' }),
  });
  const { status, error } = await (await openEngine().start(graph, 1)).result();
  expect([status, error?.message]).toEqual(['failed', expect.stringMatching(/its schema has no JSON Schema: Date/)]);
});

test('N10 the answer of a policy is held to the schema', async () => {
  const graph = chain({
    a: humanNode({ prompt: '?', schema: z.object({ n: z.number() }), policy: () => ({ n: 'x' }) }),
  });
  const { error } = await (await openEngine().start(graph, 1)).result();
  expect(error).toMatchObject({ data: { code: 'ANSWER_INVALID' } });
  expect(error?.message).toMatch(/answer\.n is string, not number/);
});
