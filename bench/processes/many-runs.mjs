/** Runs 5,000 runs one after another in one process, and prints its resident memory after 500 and after all, in bytes. */
import { AgentGraph, END, START } from '../../dist/index.js';
import { openSqliteStore } from '../../dist/stores/sqlite/index.js';

const store = openSqliteStore({ path: `${process.argv[2]}/many.db`, durability: 'normal' });
const text = 'a node of the chain writes some words '.repeat(27).slice(0, 990);
const graph = new AgentGraph({}, { id: 'chain' });
for (let index = 0; index < 5; index += 1) {
  graph.addNode(`n${index}`, () => ({ index, text }), { effectClass: 'write' });
  graph.addEdge(index === 0 ? START : `n${index - 1}`, `n${index}`);
}
const compiled = graph.addEdge('n4', END).compile({ store });
let early = 0;
for (let done = 1; done <= 5_000; done += 1) {
  await compiled.invoke({});
  if (done === 500) early = process.memoryUsage.rss();
}
console.log(JSON.stringify({ early, late: process.memoryUsage.rss() }));
process.exit(0);
