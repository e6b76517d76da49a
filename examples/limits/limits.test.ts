/** Limits over all workers, counted from outside while workers are killed and frozen. */
import { describe, expect, test } from 'vitest';
import { preparePostgres, type PostgresUnderTest } from '../../test/support/postgres-store.ts';
import { isProving } from '../../test/support/scale.ts';
import { pauseByHand, runLimitsFleet } from './fleet.ts';
import { burst, callsPerSecond } from './graph.ts';

const found = isProving ? await preparePostgres() : 'in npm run prove: it takes minutes';

describe.skipIf(typeof found === 'string')('limits over a fleet', { timeout: 1_800_000 }, () => {
  test('FL5 FL6 no call is over a limit through kills and freezes but those whose claim ran out, and everybody is served', async () => {
    const server = found as PostgresUnderTest;
    try {
      const options = { url: server.url, runs: 1_500, users: 60, workers: 3, kills: 20, freezes: 6 };
      const report = await runLimitsFleet({ ...options, tell: () => undefined });
      expect(report).toMatchObject({ completed: 1_500, overUnexplained: 0 });
      expect(report.mostInSecond).toBeLessThanOrEqual(callsPerSecond + burst);
      expect(report.endedBeforeLastUser).toBeLessThan(1_000);
      expect(await pauseByHand(server.url, () => undefined)).toEqual({ begunWhilePaused: 0, isCompleted: true });
    } finally {
      await server.stop();
    }
  });
});
