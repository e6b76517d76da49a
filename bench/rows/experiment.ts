/** What an experiment costs: the CPU of its pairs, and of as many ordinary forks that replay the same runs. */
import { AgentGraph, END, START } from '../../src/index.ts';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { experiment } from '../../src/experiments/index.ts';
import type { Graph } from '../../src/graph/graph.ts';
import { createStore } from '../database.ts';
import type { Bench, Group } from '../group.ts';
import { messageOf2Kib } from '../payload.ts';

const [items, steps] = [40, 5];
const arms = ['one', 'two', 'three'];
const name = `CPU of ${items * arms.length} pairs of an experiment, over runs of ten nodes`;

export const experiments: Group = {
  rows: [{ name, against: 'as many ordinary forks that run the pure nodes again', target: 2 }],
  warmUps: 1,
  prepare,
};

/** Reads, and computes of what it read, five times over. @param tail - what a changed arm adds to its results */
function graph(tail = ''): Graph {
  const draft = new AgentGraph({}, { id: 'compared' });
  let last: string = START;
  for (let index = 0; index < steps; index += 1) {
    const [reads, computes] = [`read${index}`, `compute${index}`];
    draft
      .addNode(reads, () => messageOf2Kib(index), { effectClass: 'read' })
      .addNode(computes, ({ input }) => `${String(input)}${tail}`, { effectClass: 'pure', uses: { tail } })
      .addEdge(last, reads)
      .addEdge(reads, computes);
    last = computes;
  }
  return draft.addEdge(last as typeof START, END).toGraph();
}

async function prepare(folder: string): Promise<Bench> {
  const store = createStore(folder, 'normal');
  const engine = createDefaultEngine({ store });
  const own = graph();
  for (let item = 0; item < items; item += 1) await (await engine.start(own, {}, { runId: `item-${item}` })).result();
  let repeats = 0;
  const cpuMsOf = async (work: () => Promise<void>): Promise<number> => {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  return {
    repeat: async () => {
      repeats += 1;
      const changed = graph(`, ${repeats}`);
      const ours = await cpuMsOf(async () => {
        const result = await experiment(
          { graph: own, engine },
          {
            name: `repeat-${repeats}`,
            dataset: { runs: Array.from({ length: items }, (_, item) => `item-${item}`) },
            arms: Object.fromEntries(arms.map((arm) => [arm, { graph: changed }])),
          },
        );
        if (result.arms['one']?.verdicts['different'] !== items) throw new Error(JSON.stringify(result.arms));
      });
      const floor = await cpuMsOf(async () => {
        for (const arm of arms)
          for (let item = 0; item < items; item += 1) {
            const runId = `fork-${repeats}-${arm}-${item}`;
            await engine.fork({ runId: `item-${item}`, seq: 0 }, { runId, graph: changed, rerunPure: true });
            await (await engine.resume(runId, { graph: changed })).result();
          }
      });
      return { [name]: { ours, floor, unit: 'ms' } };
    },
    close: async () => {
      await engine.close();
      await store.close();
    },
  };
}
