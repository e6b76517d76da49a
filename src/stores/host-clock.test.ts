import { expect, test } from 'vitest';
import { HostClock } from './host-clock.ts';

/** A clock that can be set, and time that passes. */
function createClock(): { clock: HostClock; pass: (ms: number) => void; set: (byMs: number) => void } {
  let [elapsed, offset] = [0, 1_000_000];
  const clock = new HostClock(
    () => elapsed + offset,
    () => elapsed,
  );
  return { clock, pass: (ms) => void (elapsed += ms), set: (byMs) => void (offset += byMs) };
}

test('O2.7 a lease holds for its length', () => {
  const { clock, pass } = createClock();
  const until = clock.now() + 10_000;
  expect(clock.leaseLeftMs(until, 10_000)).toBe(10_000);
  pass(9_999);
  expect(clock.leaseLeftMs(until, 10_000)).toBe(1);
  pass(1);
  expect(clock.leaseLeftMs(until, 10_000)).toBe(0);
});

test('O2.7 a lease that began later than now is over; one of an unknown length holds to its end', () => {
  const { clock, set } = createClock();
  const until = clock.now() + 10_000;
  set(-900);
  expect(clock.leaseLeftMs(until, 10_000)).toBe(10_000);
  set(-200);
  expect(clock.leaseLeftMs(until, 10_000)).toBe(0);
  expect(clock.leaseLeftMs(until, 0)).toBe(11_100);
});

test('O2.7 after a jump forward, leases that were held go on for the length of one', () => {
  const { clock, pass, set } = createClock();
  const until = clock.now() + 10_000;
  pass(1_000);
  clock.read();
  set(3_600_000);
  expect(clock.leaseLeftMs(until, 10_000)).toBe(9_000);
  pass(8_999);
  expect(clock.leaseLeftMs(until, 10_000)).toBe(1);
  pass(1);
  expect(clock.leaseLeftMs(until, 10_000)).toBe(0);
  // One that is renewed after the jump lasts no longer for it.
  expect(clock.leaseLeftMs(clock.now() + 10_000, 10_000)).toBe(10_000);
});
