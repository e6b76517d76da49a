/** Simulations of several workers over one failing store (P1 to P4). */
import { expect, it } from 'vitest';
import { createMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { createMemoryStore } from '../../src/stores/memory/index.ts';
import { seeds } from '../support/scale.ts';
import { simulate, type SimulationOptions } from './simulate.ts';

const tried = seeds(40, 1_000);

const open: SimulationOptions['open'] = (now) => ({ store: createMemoryStore({ now }), blobs: createMemoryBlobs(now) });

it('E9 what an attempt that was put off changes joins no checkpoint that another visit sees (seed 503349)', async () => {
  expect((await simulate(503_349, { open })).faults).toEqual([]);
});

it('G8 an effect that hangs before it happens fails, also after a crash in it (seed 8145)', async () => {
  expect((await simulate(8_145, { open, graph: { failsLast: true } })).faults).toEqual([]);
});

it('P1 P2 P3 P4 hold under faults, takeovers and freezes, of forks too', { timeout: 600_000 }, async () => {
  const found: string[] = [];
  let deaths = 0;
  let forks = 0;
  for (const seed of tried) {
    const report = await simulate(seed, { open });
    deaths += report.deaths;
    forks += report.forks;
    if (report.faults.length > 0)
      found.push(`npm run simulate -- --seeds 1 --from ${seed}: ${report.faults.join('; ')}`);
  }
  console.log(
    `${tried.length} simulations from seed ${tried[0]}, in which ${deaths} processes died, and ${forks} forks`,
  );
  expect(deaths).toBeGreaterThan(tried.length / 10);
  expect(forks).toBeGreaterThan(tried.length / 4);
  expect(found.slice(0, 5)).toEqual([]);
});

it(
  'G8 a run whose nodes fail last ends in one way, whatever dies and whenever, and so do its forks',
  { timeout: 600_000 },
  async () => {
    const found: string[] = [];
    let failed = 0;
    for (const seed of seeds(25, 1_000)) {
      const report = await simulate(seed, { open, graph: { failsLast: true } });
      failed += Number(report.status === 'failed');
      if (report.faults.length > 0)
        found.push(`npm run simulate -- --seeds 1 --from ${seed} --fail-last: ${report.faults.join('; ')}`);
    }
    expect(failed).toBeGreaterThan(0);
    expect(found.slice(0, 5)).toEqual([]);
  },
);
