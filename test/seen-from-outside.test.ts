/** What the design promises of stores, clocks and large values, seen by a program that only uses the package. */
import { expect, test } from 'vitest';
import { createMemoryBlobs } from '../src/blobs/memory-blobs.ts';
import { CairnError } from '../src/errors.ts';
import { AgentGraph, createMemoryStore, END, openHistory, START } from '../src/index.ts';
import type { BlobStore } from '../src/ports/blobs.ts';
import type { Store } from '../src/ports/store.ts';
import { collect } from './support/small-graphs.ts';

/** Three nodes in a row; `begun` tells which have begun. */
const line = (begun: string[], effectClass: 'pure' | 'external') =>
  new AgentGraph({}, { id: 'line' })
    .addNode('a', () => void begun.push('a'), { effectClass: 'pure' })
    .addNode('b', () => void begun.push('b'), { effectClass: 'pure' })
    .addNode('c', () => void begun.push('c'), { effectClass });

/** A store whose commits wait until they are let through. */
function slowStore(): { readonly store: Store; readonly letGo: () => void } {
  const store = createMemoryStore();
  const { promise, resolve } = Promise.withResolvers<void>();
  const commit: Store['commit'] = async (...args) => {
    await promise;
    return store.commit(...args);
  };
  return {
    store: new Proxy(store, { get: (target, key) => (key === 'commit' ? commit : Reflect.get(target, key, target)) }),
    letGo: resolve,
  };
}

test.each(['pure', 'external'] as const)(
  'E8 slow saves hold back no pure work, and each effect: the last is %s',
  async (effect) => {
    const { store, letGo } = slowStore();
    const begun: string[] = [];
    const graph = line(begun, effect)
      .addEdge(START, 'a')
      .addEdge('a', 'b')
      .addEdge('b', 'c')
      .addEdge('c', END)
      .compile({ store });
    const ended = graph.invoke({});
    await expect.poll(() => begun.at(-1)).toBe(effect === 'pure' ? 'c' : 'b');
    expect(begun).toEqual(effect === 'pure' ? ['a', 'b', 'c'] : ['a', 'b']);
    letGo();
    expect((await ended).status).toBe('completed');
    expect(begun).toEqual(['a', 'b', 'c']);
  },
);

test('C1 a clock that is an hour behind on the next machine changes no order, and nothing is done again', async () => {
  let now = 1_800_000_000_000;
  const store = createMemoryStore({ now: () => now });
  const done: string[] = [];
  const open = () =>
    new AgentGraph({}, { id: 'g' })
      .addNode('pay', () => void done.push('pay'), { effectClass: 'external' })
      .addNode('ask', (ctx) => ctx.ask({ prompt: 'Go?' }), { effectClass: 'human' })
      .addEdge(START, 'pay')
      .addEdge('pay', 'ask')
      .addEdge('ask', END)
      .compile({ store });
  await open().invoke({}, { runId: 'r' });
  now -= 3_600_000;
  expect((await open().resume('r', { answers: { ask: 'yes' } })).status).toBe('completed');
  const seqs = (await collect(openHistory(store).log('r'))).map(({ seq }) => seq);
  expect([seqs, done]).toEqual([seqs.toSorted((a, b) => b - a), ['pay']]);
  expect((await openHistory(store).state('r')).outputs).toMatchObject({ ask: 'yes' });
});

/** Blobs that count what is read and written: the first is the definition of the graph. @param failing - the write that fails */
function watchedBlobs(failing = 0): {
  readonly blobs: BlobStore;
  readonly read: string[];
  readonly puts: () => number;
} {
  const blobs = createMemoryBlobs();
  const read: string[] = [];
  let puts = 0;
  const own: Partial<BlobStore> = {
    get: (tenant, hash, range) => (read.push(hash), blobs.get(tenant, hash, range)),
    put: (owner, bytes) => {
      puts += 1;
      if (puts === failing)
        return Promise.reject(new CairnError('STORE_UNAVAILABLE', { store: 'blobs', reason: 'away' }));
      return blobs.put(owner, bytes);
    },
  };
  const get = (target: BlobStore, key: string): unknown =>
    own[key as keyof BlobStore] ?? Reflect.get(target, key, target);
  return { blobs: new Proxy(blobs, { get: get as never }), read, puts: () => puts };
}

const large = 'x'.repeat(600_000);

test('C5 a list, a log and an unrelated read fetch no large value; the one that is asked for is fetched', async () => {
  const { blobs, read } = watchedBlobs();
  const store = createMemoryStore();
  const graph = new AgentGraph({}, { id: 'g' })
    .addNode('big', (ctx) => ctx.files.put(new TextEncoder().encode(large), { name: 'big.txt' }))
    .addNode('small', () => 'small')
    .addEdge(START, 'big')
    .addEdge('big', 'small')
    .addEdge('small', END)
    .compile({ store, blobs });
  const { runId, state } = await graph.invoke({});
  read.length = 0;
  await collect(graph.history.list());
  await collect(graph.history.log(runId));
  expect([(await graph.history.state(runId)).outputs['small'], read]).toEqual(['small', []]);
  const bytes = await graph.engine.files.get(state.outputs['big'] as never);
  expect([bytes.length, read.length]).toEqual([large.length, 1]);
});

test('C5 an upload that fails stops the run as its store does, and a resume makes it again', async () => {
  const { blobs, puts } = watchedBlobs(2);
  const graph = new AgentGraph({}, { id: 'g' })
    .addNode('big', () => large, { effectClass: 'pure' })
    .addEdge(START, 'big')
    .addEdge('big', END)
    .compile({ store: createMemoryStore(), blobs });
  await expect(graph.invoke({}, { runId: 'r' })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  const { status, state } = await graph.resume('r');
  expect([status, String(state.outputs['big']).length, puts()]).toEqual(['completed', large.length, 3]);
});

class Thing {
  readonly name = 'thing';
}

test.each([
  ['a small value', { a: 1 }, 'as it is', 0],
  ['a date, a set and a map', { at: new Date(0), tags: new Set([1]), by: new Map([['a', 1]]) }, 'as it is', 0],
  ['a large text', large, 'as it is', 1],
  ['large bytes', new Uint8Array(600_000).fill(7), 'as it is', 1],
  ['a function', () => 1, 'VALUE_UNSTORABLE', 0],
  ['an object of a class', new Thing(), 'VALUE_UNSTORABLE', 0],
] as const)(
  'C2 C5 each value is kept whole, here or in a file, or refused by name: %s',
  async (_, value, expected, files) => {
    const { blobs, puts } = watchedBlobs();
    const store = createMemoryStore();
    const graph = new AgentGraph({}, { id: 'g' })
      .addNode('a', () => value as unknown)
      .addEdge(START, 'a')
      .addEdge('a', END)
      .compile({ store, blobs });
    const { runId, status, error } = await graph.invoke({});
    const fault =
      status === 'completed' ? undefined : JSON.stringify([error, (error as { cause?: unknown } | undefined)?.cause]);
    const kept = status === 'completed' ? (await graph.history.state(runId)).outputs['a'] : undefined;
    expect([kept, fault?.includes('VALUE_UNSTORABLE') ?? false, puts() - 1]).toEqual([
      expected === 'as it is' ? value : undefined,
      expected !== 'as it is',
      files,
    ]);
  },
);
