/** Prints how many bytes a finished run keeps that only a full collection gives back. Started with `--expose-gc`. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentGraph, END, START } from '../../src/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';

declare const gc: (options?: { readonly type: 'minor' }) => void;

const count = 50;
const folder = mkdtempSync(join(tmpdir(), 'cairn-memory-'));
const store = openSqliteStore({ path: join(folder, 'runs.db') });
const graph = new AgentGraph({}, { id: 'chain' })
  .addNode('a', () => ({ text: 'a' }), { effectClass: 'write' })
  .addNode('b', () => ({ text: 'b' }), { effectClass: 'write' })
  .addNode('c', () => ({ text: 'c' }), { effectClass: 'write' })
  .addEdge(START, 'a')
  .addEdge('a', 'b')
  .addEdge('b', 'c')
  .addEdge('c', END)
  .compile({ store });

async function runAll(): Promise<void> {
  for (let done = 0; done < count; done += 1) await graph.invoke({});
  await new Promise((resolve) => setImmediate(resolve));
}

// The first runs make what all later ones share: compiled code, caches.
for (let round = 0; round < 12; round += 1) await runAll();
gc();
gc();
const before = process.memoryUsage().heapUsed;
await runAll();
for (let round = 0; round < 3; round += 1) gc({ type: 'minor' });
const heldBytes = process.memoryUsage().heapUsed - before;
await graph.close();
await store.close();
rmSync(folder, { recursive: true });
console.log(heldBytes / count);
