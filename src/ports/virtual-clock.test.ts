import { expect, test } from 'vitest';
import { createVirtualClock } from './virtual-clock.ts';

test('E1 time stands still until it is told to go on, and then goes from timer to timer', async () => {
  const clock = createVirtualClock({ startMs: 1000 });
  const seen: (readonly [string, number])[] = [];
  const note = (name: string) => (): void => void seen.push([name, clock.now()]);
  clock.setTimer(30, note('late'));
  clock.setTimer(10, () => {
    note('soon')();
    clock.setTimer(5, note('next'));
  });
  clock.setTimer(20, note('cancelled'))();
  expect(clock.timerCount).toBe(2);
  await clock.advance(20);
  expect(seen).toEqual([
    ['soon', 1010],
    ['next', 1015],
  ]);
  expect([clock.now(), clock.monotonic()]).toEqual([1020, 20]);
  await clock.runUntilIdle();
  expect(seen.at(-1)).toEqual(['late', 1030]);
  expect([clock.now(), clock.timerCount]).toEqual([1030, 0]);
});

test('E1 what a timer wakes runs before the next timer, promises and deferred work included', async () => {
  const clock = createVirtualClock();
  const seen: string[] = [];
  clock.setTimer(1, () => {
    void Promise.resolve().then(() => seen.push('promise'));
    clock.defer(() => seen.push('deferred'));
  });
  clock.setTimer(2, () => seen.push('second'));
  await clock.runUntilIdle();
  expect(seen).toEqual(['promise', 'deferred', 'second']);
});

test('E1 timers of one instant are called in an order that the seed decides', async () => {
  const orderOf = async (seed: number): Promise<number[]> => {
    const clock = createVirtualClock({ seed });
    const order: number[] = [];
    for (let index = 0; index < 8; index += 1) clock.setTimer(5, () => order.push(index));
    await clock.runUntilIdle();
    return order;
  };
  expect(await orderOf(1)).toEqual(await orderOf(1));
  const orders = await Promise.all([1, 2, 3, 4, 5].map(orderOf));
  expect(new Set(orders.map(String)).size).toBe(5);
});

test('E1 timers set while time goes on are part of it, and runs that overlap are one', async () => {
  const clock = createVirtualClock();
  let left = 3;
  const again = (): void => {
    left -= 1;
    if (left > 0) clock.setTimer(1000, again);
  };
  clock.setTimer(1000, again);
  await Promise.all([clock.runUntilIdle(), clock.runUntilIdle()]);
  expect([left, clock.monotonic()]).toEqual([0, 3000]);
});
