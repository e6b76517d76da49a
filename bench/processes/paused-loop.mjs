/** A loop of 500 visits with a small state, then a question, over the built package. */
import { AgentGraph, END, START, humanNode, outcome } from '../../dist/index.js';
import { openSqliteStore } from '../../dist/stores/sqlite/index.js';

const visits = 500;
const text = 'a step of the loop writes some words '.repeat(27).slice(0, 990);

export const runId = 'resumed';

/** @param {string} folder */
export function openLoop(folder) {
  const store = openSqliteStore({ path: `${folder}/ours.db` });
  const graph = new AgentGraph({}, { id: 'loop', checkpointPolicy: 'every_node' })
    .addNode('step', ({ visit }) => outcome({ scratch: { count: visit, last: { visit, text } } }))
    .addNode('ask', humanNode({ prompt: 'Go on?' }))
    .addNode('end', ({ state }) => state.scratch.count)
    .addEdge(START, 'step')
    .addEdge('step', 'step', { when: ({ state }) => state.scratch.count < visits })
    .addEdge('step', 'ask', { when: ({ state }) => state.scratch.count >= visits })
    .addEdge('ask', 'end')
    .addEdge('end', END)
    .compile({ store });
  return { graph, store };
}
