/** The engine without a disk, beside LangGraph.js with its own store in memory. */
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { chainGraph } from '../graphs.ts';
import type { Group } from '../group.ts';
import { importLangGraph, timeLangGraphLoop } from '../langgraph.ts';
import { makeList, outputOfKib } from '../payload.ts';
import { timeRuns } from '../time-run.ts';

const count = 10_000;
const loopCount = 1_000;
const name = 'engine alone: 10,000 pure nodes, memory store, per node';

export const engineAlone: Group = {
  rows: [{ name, against: 'LangGraph.js with MemorySaver, same work as a loop', target: 0.03 }],
  warmUps: 2,
  prepare: async () => {
    const langGraph = await importLangGraph();
    const outputs = makeList(count, outputOfKib);
    const graph = chainGraph(outputs, 'pure');
    return {
      repeat: async () => {
        const ours = await timeRuns(graph, createMemoryStore());
        const theirs = await timeLangGraphLoop(langGraph, outputs.slice(0, loopCount));
        return { [name]: { ours: (ours / count) * 1000, floor: (theirs / loopCount) * 1000, unit: 'us' } };
      },
    };
  },
};
