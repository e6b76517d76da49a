/** What a log and counters cost: the CPU of the same runs with both and with neither, in turns run by run. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createDefaultEngine } from '../../src/app/default-engine.ts';
import { createLineLog } from '../../src/app/log/line-log.ts';
import { createMetrics } from '../../src/app/metrics/metrics.ts';
import { createStore } from '../database.ts';
import { chainGraph } from '../graphs.ts';
import type { Bench, Group } from '../group.ts';
import { messageOf2Kib } from '../payload.ts';

const nodes = 200;
const runs = 40;
const name = 'CPU of 40 runs of 200 pure nodes, with a log of JSON lines and counters';

export const watched: Group = {
  rows: [{ name, against: 'the same with neither, in turns', target: 1.05 }],
  warmUps: 2,
  prepare,
};

function prepare(folder: string): Bench {
  const graph = chainGraph(
    Array.from({ length: nodes }, (_, index) => messageOf2Kib(index)),
    'pure',
  );
  let written = 0;
  const log = createLineLog({ write: (line) => (written += line.length), isPlain: false });
  const sides = [true, false].map((isWatched) => {
    const own = join(folder, isWatched ? 'watched' : 'alone');
    mkdirSync(own);
    const store = createStore(own, 'normal');
    const engine = createDefaultEngine({ store, ...(isWatched && { log, metrics: createMetrics() }) });
    return { isWatched, store, engine };
  });
  return {
    repeat: async () => {
      const tookMs = { watched: 0, alone: 0 };
      for (let count = 0; count < runs; count += 1)
        // A busy machine, and a compiler at work, are the same for both.
        for (const { isWatched, engine } of count % 2 === 0 ? sides : sides.toReversed()) {
          const before = process.cpuUsage();
          await (await engine.start(graph, {})).result();
          const { user, system } = process.cpuUsage(before);
          tookMs[isWatched ? 'watched' : 'alone'] += (user + system) / 1000;
        }
      if (written === 0) throw new Error('nothing was logged');
      return { [name]: { ours: tookMs.watched, floor: tookMs.alone, unit: 'ms' } };
    },
    close: async () => {
      for (const { engine, store } of sides) {
        await engine.close();
        await store.close();
      }
    },
  };
}
