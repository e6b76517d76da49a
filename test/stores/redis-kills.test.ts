/** A run over Redis whose server is killed with SIGKILL at each call, and started again; with the process that calls, and without it (P1, P2). */
import { afterAll, describe, expect, test } from 'vitest';
import { compareTrials } from '../../src/testing/crash-kit/compare-trials.ts';
import { crashFree, runTrial } from '../../src/testing/crash-kit/crash-everywhere.ts';
import type { CrashCase, CrashKitOptions } from '../../src/testing/crash-kit/process-life.ts';
import { createSeededRandom } from '../../src/ports/seeded-random.ts';
import { agentCase, planAgent } from '../agents/agent-plan.ts';
import { wholeCase, wholeLimits } from '../crash/cases/whole.ts';
import { placeInRedis } from '../support/crash-storage.ts';
import { startRedis, type RedisUnderTest } from '../support/redis.ts';
import { sample, scale, seeds } from '../support/scale.ts';

/** What dies at a call. */
type Victim = 'the server' | 'the server and the process' | 'the process';

/** At the n-th call to the server: before it is sent, while it is under way, or when it is acknowledged. */
interface CallPoint {
  readonly number: number;
  readonly when: 'before' | 'within' | 'after';
}

const moments = ['before', 'within', 'after'] as const;
const told = ({ number, when }: CallPoint): string => `${when} call ${number}`;

const found = await startRedis();
if (typeof found === 'string') console.warn(`Redis was not killed at each call: ${found}`);

describe.skipIf(typeof found === 'string')(`Redis${typeof found === 'string' ? `: ${found}` : ''}`, () => {
  const server = found as RedisUnderTest;
  afterAll(() => server.stop());

  async function killAtCalls(
    crashCase: CrashCase,
    victim: Victim,
    gate: number,
    limits: NonNullable<CrashKitOptions['limits']>,
  ): Promise<{ readonly trials: number; readonly faults: readonly string[] }> {
    let fatal: CallPoint | undefined;
    let calls = 0;
    const die = async (kill: () => void): Promise<void> => {
      if (victim !== 'the server') kill();
      if (victim !== 'the process') await server.crash();
    };
    const place = placeInRedis(server, async (call, kill) => {
      calls += 1;
      if (calls !== fatal?.number) return call();
      if (fatal.when === 'before') await die(kill);
      const reply = call();
      if (fatal.when === 'within') await Promise.allSettled([reply, die(kill)]);
      const value = await reply;
      if (fatal.when === 'after') await die(kill);
      return value;
    });
    const options: CrashKitOptions = {
      limits,
      open: (now, kill) => {
        calls = 0;
        return place.open(now, kill);
      },
    };
    const expected = await crashFree(crashCase, options);
    // The last calls are those of the kit, which reads the run that has ended.
    const points = Array.from({ length: calls - 3 }, (_, index) =>
      moments.map((when) => ({ number: index + 1, when })),
    ).flat();
    const chosen = sample(points, gate, ({ when }) => when);
    const faults: string[] = [];
    for (const point of chosen) {
      fatal = point;
      const trial = await runTrial(crashCase, options, []).catch((error: unknown) => String((error as Error).stack));
      const differences =
        typeof trial === 'string'
          ? [trial]
          : // A process that goes on after its server was killed may repeat what may be repeated.
            [...trial.faults, ...compareTrials(crashCase.isScheduleFree ?? true, 1, expected, trial)];
      if (differences.length > 0) faults.push(`killed ${told(point)}: ${differences.join('; ')}`);
    }
    return { trials: chosen.length, faults };
  }

  test.each<Victim>(['the server', 'the server and the process', 'the process'])(
    'P1 P2 a run during which %s is killed at a call ends as if it never was',
    { timeout: 3_000_000 },
    async (victim) => {
      const whole = await killAtCalls(wholeCase, victim, 3, wholeLimits);
      let { trials } = whole;
      expect(whole.faults).toEqual([]);
      for (const seed of seeds(0, 1)) {
        const agent = agentCase(planAgent(createSeededRandom(seed * 7_919)));
        const report = await killAtCalls(agent, victim, 3, { inlineBytes: 64 });
        expect(report.faults, `agent of seed ${seed}`).toEqual([]);
        trials += report.trials;
      }
      console.log(`runs over Redis: ${victim} was killed at ${trials} calls`);
      expect(trials).toBeGreaterThan(scale(2, 200));
    },
  );
});
