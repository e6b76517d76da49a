import { execFileSync } from 'node:child_process';
import { afterEach, expect, test, vi } from 'vitest';
import { systemClock } from './system-clock.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('W5 a timer of months fires once, when it is due', () => {
  vi.useFakeTimers();
  const days = 24 * 60 * 60_000;
  let fired = 0;
  systemClock.setTimer(60 * days, () => {
    fired += 1;
  });
  vi.advanceTimersByTime(60 * days - 1);
  expect(fired).toBe(0);
  vi.advanceTimersByTime(1);
  expect(fired).toBe(1);
  vi.advanceTimersByTime(60 * days);
  expect(fired).toBe(1);
});

test('W5 a timer that is taken back does not fire', () => {
  vi.useFakeTimers();
  let fired = 0;
  const cancel = systemClock.setTimer(10, () => {
    fired += 1;
  });
  cancel();
  vi.advanceTimersByTime(100);
  expect(fired).toBe(0);
});

test('E6 a process that waits for a delayed attempt stays until it has been made', () => {
  const script = `
    import { systemClock } from ${JSON.stringify(new URL('system-clock.ts', import.meta.url).href)};
    const leave = systemClock.stay();
    systemClock.setTimer(10, () => { console.log('made'); leave(); });
    systemClock.setTimer(60 * 60_000, () => undefined);
  `;
  const args = ['--input-type=module', '--disable-warning=ExperimentalWarning', '-e', script];
  expect(execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 30_000 })).toBe('made\n');
});
