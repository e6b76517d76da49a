/**
 * Prints what a workload takes in a fresh process, and what it takes there when it is warm, in ms: `{"first":…,"warm":…}`.
 * `node first-runs.mjs FOLDER NODES RUNS`: so many write nodes one after another, in so many runs at once.
 */
import { rmSync } from 'node:fs';
import { AgentGraph, END, START } from '../../dist/index.js';
import { openSqliteStore } from '../../dist/stores/sqlite/index.js';

const [folder, nodes, runs] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const text = 'a node of the chain writes some words '.repeat(27).slice(0, 990);
const warmUps = 4;

function build() {
  const graph = new AgentGraph({}, { id: 'chain', checkpointPolicy: 'every_node' });
  for (let index = 0; index < nodes; index += 1) {
    graph.addNode(`n${index}`, () => ({ index, text }), { effectClass: 'write' });
    graph.addEdge(index === 0 ? START : `n${index - 1}`, `n${index}`);
  }
  return graph.addEdge(`n${nodes - 1}`, END);
}

const graph = build();

async function time() {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${folder}/first.db${suffix}`, { force: true });
  const store = openSqliteStore({ path: `${folder}/first.db`, durability: 'full' });
  const compiled = graph.compile({ store });
  const startMs = performance.now();
  const results = await Promise.all(Array.from({ length: runs }, () => compiled.invoke({})));
  const tookMs = performance.now() - startMs;
  if (results.some(({ status }) => status !== 'completed')) throw new Error('a run did not complete');
  await compiled.close();
  await store.close();
  return tookMs;
}

const first = await time();
for (let done = 0; done < warmUps; done += 1) await time();
const warm = [await time(), await time(), await time()].toSorted((a, b) => a - b)[1];
console.log(JSON.stringify({ first, warm }));
