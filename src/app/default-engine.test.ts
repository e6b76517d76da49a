import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { AgentGraph, END, humanNode, START } from '../index.ts';
import type { Store } from '../ports/store.ts';
import { createMemoryStore } from '../stores/memory/index.ts';
import { openSqliteStore } from '../stores/sqlite/index.ts';
import { createDefaultEngine } from './default-engine.ts';

const folder = mkdtempSync(join(tmpdir(), 'cairn-default-engine-'));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const large = 'x'.repeat(400 * 1024);
const compileWith = (store: Store) =>
  new AgentGraph({}, { id: 'large' })
    .addNode('make', () => large)
    .addNode('ask', humanNode({ prompt: 'Go on?' }))
    .addNode('use', ({ state }) => state.outputs.make?.length)
    .addEdge(START, 'make')
    .addEdge('make', 'ask')
    .addEdge('ask', 'use')
    .addEdge('use', END)
    .compile({ store });

test('C5 a large value survives with its database, without a blob store being named', async () => {
  const path = join(folder, 'runs.db');
  const firstStore = openSqliteStore({ path });
  const first = compileWith(firstStore);
  await first.invoke({}, { runId: 'run' });
  await first.close();
  await firstStore.close();
  expect(existsSync(join(folder, 'runs.blobs'))).toBe(true);

  const secondStore = openSqliteStore({ path });
  const second = compileWith(secondStore);
  const done = await second.resume('run', { answers: { ask: 'yes' } });
  expect([done.status, done.state.outputs.use]).toEqual(['completed', large.length]);
  await second.close();
  await secondStore.close();
});

test('C5 engines over one store in memory share its blobs', async () => {
  const store = createMemoryStore();
  await compileWith(store).invoke({}, { runId: 'run' });
  const done = await compileWith(store).resume('run', { answers: { ask: 'yes' } });
  expect([done.status, done.state.outputs.use]).toEqual(['completed', large.length]);
});

test('G9 a store of another kind needs a blob store', () => {
  const store = {
    ...createMemoryStore(),
    name: 'other:',
    capabilities: { durability: 'power', isShared: true },
  } as Store;
  expect(() => createDefaultEngine({ store })).toThrow(/blob store is needed/);
});
