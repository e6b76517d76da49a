/** Outages of a store that are longer than leases, under workers that all live: each run goes on within two leases of the return (O2.8). */
import { expect, test } from 'vitest';
import { createMemoryStore } from '../src/stores/memory/index.ts';
import { createSeededRandom } from '../src/ports/seeded-random.ts';
import { createVirtualClock } from '../src/ports/virtual-clock.ts';
import { cutStore } from './support/cut-store.ts';
import { seeds } from './support/scale.ts';
import { startFleet, type Fleet } from './support/fleet.ts';

const leaseMs = 10_000;

test.each(seeds(20, 1_000))(
  'O2.8 two to five workers, an outage of 0.5 to 10 leases, nobody dies: no run stands still, and each effect happens once (seed %i)',
  async (seed) => {
    const random = createSeededRandom(seed);
    const clock = createVirtualClock({ seed });
    const memory = createMemoryStore({ now: () => clock.now() });
    const lines: ReturnType<typeof cutStore>[] = [];
    const workers = 2 + random.integer(4);
    const fleet: Fleet = await startFleet({
      workers,
      runs: 1 + random.integer(8),
      effects: 12,
      effectMs: () => 500 + random.integer(3_000),
      leaseMs,
      clock,
      openStore: () => {
        const line = cutStore(memory);
        lines.push(line);
        return line.store;
      },
    });
    await clock.advance(random.integer(15_000));
    // Each process loses its line, and has it again, at a time of its own.
    for (const { cut } of lines) clock.setTimer(random.integer(500), cut);
    await clock.advance(leaseMs * (0.5 + 9.5 * random.next()));
    for (const { heal } of lines) clock.setTimer(random.integer(500), heal);
    await clock.advance(500);
    const before = await fleet.progress();
    await clock.advance(2 * leaseMs);
    const after = await fleet.progress();
    const stuck = [...before].filter(([runId, { isOver, ended }]) => !isOver && after.get(runId)?.ended === ended);
    expect(stuck).toEqual([]);
    await clock.advance(120_000);
    expect(await fleet.report()).toEqual({ completed: fleet.runs, doubts: 0, once: fleet.runs * 12 });
    await clock.run(fleet.close());
  },
);
