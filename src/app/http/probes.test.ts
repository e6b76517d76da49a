import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createProbes, isProbe } from './probes.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const nothing = async (): Promise<{ readonly runs: readonly never[] }> => ({ runs: [] });

test('O3.2.4 it is ready while its store answers within two seconds, and not once it stops', async () => {
  let answers: () => Promise<unknown> = nothing;
  let asked = 0;
  const probes = createProbes({ listRuns: async () => ((asked += 1), (await answers()) as never) }, 'default');
  const statusOf = async (path: string): Promise<number | undefined> => (await probes.answer(path))?.status;
  expect(await statusOf('/readyz')).toBe(200);
  answers = () => Promise.reject(new Error('away'));
  expect(await statusOf('/readyz')).toBe(503);
  answers = () => new Promise(() => undefined);
  asked = 0;
  const hanging = Promise.all([statusOf('/readyz'), statusOf('/readyz')]);
  await vi.advanceTimersByTimeAsync(1_999);
  expect(await Promise.race([hanging, Promise.resolve('pending')])).toBe('pending');
  await vi.advanceTimersByTimeAsync(1);
  expect(await hanging).toEqual([503, 503]);
  expect(asked).toBe(1);
  // One question that is never answered does not keep it from asking again.
  answers = nothing;
  expect(await statusOf('/readyz')).toBe(200);
  probes.stop();
  expect([await statusOf('/readyz'), await statusOf('/livez'), await statusOf('/v1')]).toEqual([503, 200, undefined]);
});

test('O3.2.4 a probe is what reads at one of three paths', () => {
  expect(['/livez', '/readyz?verbose', '/healthz'].every((path) => isProbe('GET', path))).toBe(true);
  expect(['/livez/x', '/v1/livez', '/livezz', '/'].some((path) => isProbe('GET', path))).toBe(false);
  expect([isProbe('HEAD', '/livez'), isProbe('POST', '/livez')]).toEqual([true, false]);
});
