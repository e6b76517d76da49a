/** A fork costs one committed insert, wherever in the history it begins. */
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { createStore, FloorDatabase, readStoredRows } from '../database.ts';
import { chainGraph } from '../graphs.ts';
import type { Bench, Group } from '../group.ts';
import { median } from '../median.ts';
import { makeList, outputOfKib } from '../payload.ts';

const forks = 15;
const name = 'fork at seq 5,000 of 10,000, acknowledged, FULL';
const nameOfLength = `${name} (short run)`;

export const fork: Group = {
  rows: [
    { name, against: 'one committed insert, FULL', target: 2 },
    { name: nameOfLength, against: 'fork at seq 5 of 10', target: 1.2 },
  ],
  prepare,
};

async function prepare(folder: string): Promise<Bench> {
  const store = createStore(folder, 'full');
  const engine = createDefaultEngine({ store });
  const runOf = async (nodes: number): Promise<string> => {
    const handle = await engine.start(chainGraph(makeList(nodes, outputOfKib), 'pure'), {});
    return (await handle.result()).runId;
  };
  const [longRun, shortRun] = [await runOf(10_000), await runOf(10)];
  await engine.fork({ runId: longRun, seq: 5_000 });
  const row = readStoredRows(folder).at(-1)!;
  return {
    repeat: async () => {
      const floor = new FloorDatabase(folder, { synchronous: 'full' });
      const tookMs = { long: [] as number[], short: [] as number[], insert: [] as number[] };
      for (let count = 0; count < forks; count += 1) {
        let startMs = performance.now();
        await engine.fork({ runId: longRun, seq: 5_000 });
        tookMs.long.push(performance.now() - startMs);
        startMs = performance.now();
        await engine.fork({ runId: shortRun, seq: 5 });
        tookMs.short.push(performance.now() - startMs);
        startMs = performance.now();
        floor.insert({ ...row, seq: count });
        tookMs.insert.push(performance.now() - startMs);
      }
      floor.close();
      const ours = median(tookMs.long);
      return {
        [name]: { ours, floor: median(tookMs.insert), unit: 'ms' },
        [nameOfLength]: { ours, floor: median(tookMs.short), unit: 'ms' },
      };
    },
    close: async () => {
      await engine.close();
      await store.close();
    },
  };
}
