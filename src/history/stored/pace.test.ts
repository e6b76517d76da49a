import { expect, test } from 'vitest';
import { boundReading, pause } from './pace.ts';

/** Keeps the process busy for longer than a slice. */
function work(): void {
  const until = performance.now() + 16;
  while (performance.now() < until);
}

test('P8 callers take turns, however many requests each has', async () => {
  const rounds: string[] = [];
  const read = (caller: string): Promise<void> =>
    boundReading({ caller }, async () => {
      for (let round = 0; round < 4; round += 1) {
        work();
        rounds.push(caller);
        await pause(1);
      }
    });
  await Promise.all([...Array.from({ length: 6 }, () => read('many')), read('one')]);
  // The first round of each began at once. From then on every second turn was that of the one request.
  expect(rounds.lastIndexOf('one')).toBeLessThan(7 + 2 * 3 + 1);
});
