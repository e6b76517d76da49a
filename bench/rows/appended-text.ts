/** What steps that append to a list take on disk, beside a state that stays the same: of text, and of what cannot be compressed. */
import { randomBytes } from 'node:crypto';
import { createStore, databaseBytes } from '../database.ts';
import { appendingGraph } from '../graphs.ts';
import type { Group, Sample } from '../group.ts';
import { makeList, textOfKib } from '../payload.ts';
import { timeRuns } from '../time-run.ts';

const count = 5_000;
const constantKib = 1_024;
const nameOfText = 'bytes stored, 5,000 external steps appending 1 KiB of text';
const nameOfNoise = 'the same of what cannot be compressed';

/** 1 KiB as base64. */
const noiseOfKib = (): string => randomBytes(768).toString('base64');

export const appendedText: Group = {
  rows: [
    { name: nameOfText, against: 'distinct bytes produced, beside 1 MiB of state', target: 1.25 },
    { name: nameOfNoise, against: 'distinct bytes produced, beside 1 MiB of state', target: 1.45 },
  ],
  warmUps: 0,
  prepare: (folder) => {
    const measure = async (ofKib: (index: number) => string): Promise<Sample> => {
      const items = makeList(count, ofKib);
      const constant = makeList(constantKib, (index) => ofKib(count + index));
      const floor = [...items, ...constant].reduce((sum, text) => sum + JSON.stringify(text).length, 0);
      await createStore(folder, 'normal').close();
      const emptyBytes = databaseBytes(folder);
      const store = createStore(folder, 'normal');
      await timeRuns(appendingGraph(items, constant), store);
      await store.close();
      return { ours: databaseBytes(folder) - emptyBytes, floor, unit: 'bytes' };
    };
    return {
      repeat: async () => ({ [nameOfText]: await measure(textOfKib), [nameOfNoise]: await measure(noiseOfKib) }),
    };
  },
};
