/** How long work takes, alone and beside what it is compared with. */
import type { Sample } from './group.ts';
import { median } from './median.ts';

/** Milliseconds of work that is done when it returns. */
export function millis(act: () => unknown): number {
  const startMs = performance.now();
  act();
  return performance.now() - startMs;
}

/** The medians of both, done in turns. */
export async function compareInTurns(
  times: number,
  ours: () => Promise<unknown>,
  floor: () => unknown,
): Promise<Sample> {
  const tookMs = { ours: [] as number[], floor: [] as number[] };
  for (let count = 0; count < times; count += 1) {
    const startMs = performance.now();
    await ours();
    tookMs.ours.push(performance.now() - startMs);
    tookMs.floor.push(millis(floor));
  }
  return { ours: median(tookMs.ours), floor: median(tookMs.floor), unit: 'ms' };
}
