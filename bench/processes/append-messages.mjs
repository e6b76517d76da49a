/** A run of as many steps as there are messages, each appended to one list; prints the peak of memory in KiB. */
import { readFileSync, rmSync } from 'node:fs';
import { AgentGraph, END, START, outcome } from '../../dist/index.js';
import { openSqliteStore } from '../../dist/stores/sqlite/index.js';

const folder = process.argv[2];
const messages = JSON.parse(readFileSync(`${folder}/messages.json`, 'utf8'));
for (const suffix of ['', '-wal', '-shm']) rmSync(`${folder}/ours.db${suffix}`, { force: true });
const store = openSqliteStore({ path: `${folder}/ours.db`, durability: 'normal' });
const graph = new AgentGraph(
  {},
  { id: 'list', checkpointPolicy: 'every_node', reducers: { 'scratch.messages': 'append' } },
)
  .addNode('step', ({ visit }) => outcome({ scratch: { count: visit, messages: [messages[visit - 1]] } }))
  .addEdge(START, 'step')
  .addEdge('step', 'step', { when: ({ state }) => state.scratch.count < messages.length })
  .addEdge('step', END, { when: ({ state }) => state.scratch.count >= messages.length })
  .compile({ store });
const { status, state } = await graph.invoke({});
if (status !== 'completed' || state.scratch.messages.length !== messages.length)
  throw new Error(`the run is ${status}`);
console.log(process.resourceUsage().maxRSS);
