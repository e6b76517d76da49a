/** The fleet of the demo: workers killed at random over one Postgres, and over one that crashes under them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { openOn, preparePostgres, type PostgresUnderTest } from '../../test/support/postgres-store.ts';
import { isProving, scale } from '../../test/support/scale.ts';
import { moveAndTakeOver, runFleet, type FleetOptions } from './fleet.ts';

const found = await preparePostgres();
if (typeof found === 'string') console.warn(`The fleet was not tested: ${found}`);

describe.skipIf(typeof found === 'string')(
  `fleet${typeof found === 'string' ? `: ${found}` : ''}`,
  { timeout: 1_800_000 },
  () => {
    const server = found as PostgresUnderTest;
    const folder = mkdtempSync(join(tmpdir(), 'cairn-fleet-'));
    beforeAll(() => server.empty());
    afterAll(async () => {
      rmSync(folder, { recursive: true, force: true });
      await server.stop();
    });

    const random = createSeededRandom(7);
    const optionsOf = (name: string): FleetOptions => ({
      url: server.url,
      ledger: join(folder, `${name}.jsonl`),
      orders: scale(16, 200),
      workers: 3,
      kills: scale(2, 20),
      stops: scale(1, 6),
      random: () => random.next(),
      tell: () => undefined,
    });
    const whole = ({ orders, kills, stops = 0, dies = [] }: FleetOptions): object => ({
      completed: orders,
      kills,
      stops,
      deaths: dies.length,
      effects: orders * 3,
      expectedEffects: orders * 3,
      repeated: [],
      faults: [],
    });

    test('P1 P2 orders of killed and stopped workers go on elsewhere, the schedule leaves nothing out, and each effect happens once', async () => {
      const calls = Array.from({ length: 32 }, (_, index) => index + 1);
      const all = calls.flatMap((call) => [`before ${call}`, `after ${call}`]);
      const dies = isProving ? all : [all[22], all[61]].map(String);
      const options = { ...optionsOf('killed'), dies };
      const report = await runFleet(options);
      expect(report).toMatchObject(whole(options));
      expect(report.restocks).toBeGreaterThan(2);
      await server.empty();
    });

    test('P1 P2 the same while the server crashes every 3 s', async (context) => {
      context.skip(!isProving, 'in npm run prove: it takes a minute');
      const options = optionsOf('crashed');
      let crashedAt = performance.now();
      let crashes = 0;
      const disturb = async (): Promise<void> => {
        if (performance.now() - crashedAt < 3_000) return;
        await server.crash?.();
        crashes += 1;
        crashedAt = performance.now();
      };
      expect(await runFleet({ ...options, disturb })).toMatchObject(whole(options));
      expect(crashes).toBeGreaterThan(2);
      await server.empty();
    });

    test('P1 P4 an order that began on SQLite is completed on Postgres by a worker that took it from one stopped by SIGSTOP', async (context) => {
      context.skip(!isProving, 'in npm run prove: a lease runs out');
      const moved = await moveAndTakeOver({ ...optionsOf('moved'), file: join(folder, 'runs.db') });
      expect(moved).toEqual({ status: 'completed', effects: 3, repeated: [], isValid: true, saidByStopped: [] });
      await openOn(server).close();
    });
  },
);
