/** The suite of hosts over those that need no server: calls by HTTP, a worker, and a host whose wakes come late, twice, or never. */
import { describe, expect, test } from 'vitest';
import { createWorker } from '../app/worker.ts';
import type { AdvanceResult, Engine, RunWaker } from '../engine/api.ts';
import { hostSuite, type HostedRuns, type HostUnderTest } from '../testing/host-suite.ts';
import { fetchHost } from './fetch-host.ts';
import { nextSliceMs } from './slices.ts';

const engineOf = ({ graphs }: HostedRuns): Engine => graphs[0]?.engine as Engine;

/** What stands between a host and its runs: a list of who is to be called when. */
interface DueList extends RunWaker {
  stop(): Promise<void>;
  forget(): Promise<void>;
}

/** @param loses - which wakes are lost, and which are repeated; each is delayed by a time of its own, so that they are reordered too */
function createDueList(
  tick: (runId: string) => Promise<AdvanceResult>,
  loses?: (count: number) => { readonly copies: number; readonly delayMs: number },
): DueList {
  const timers = new Set<NodeJS.Timeout>();
  const calls = new Set<Promise<void>>();
  let [count, isStopped] = [0, false];
  const call = async (runId: string): Promise<void> => {
    const result = await tick(runId).catch(() => undefined);
    const now = Date.now();
    const nextMs = result && nextSliceMs(result, now);
    if (nextMs !== undefined) await wake(runId, now + nextMs);
  };
  const wake = async (runId: string, at: number): Promise<void> => {
    if (isStopped) return;
    const { copies, delayMs } = loses?.((count += 1)) ?? { copies: 1, delayMs: 0 };
    for (let copy = 0; copy < copies; copy += 1) {
      const afterMs = Math.max(0, at - Date.now()) + delayMs * (copy + 1);
      const timer = setTimeout(() => {
        timers.delete(timer);
        const called = call(runId).finally(() => calls.delete(called));
        calls.add(called);
      }, afterMs);
      timers.add(timer);
    }
  };
  const forget = async (): Promise<void> => {
    for (const timer of timers) clearTimeout(timer);
    timers.clear();
  };
  return {
    wake,
    forget,
    async stop() {
      isStopped = true;
      await forget();
      await Promise.all(calls);
    },
  };
}

function overFetch({ graphs, forMs }: HostedRuns, maxMs = 605_000 + 1_000 + forMs): HostUnderTest {
  const host = fetchHost({ graphs, maxMs });
  const post = async <Answer>(path: string, body = {}): Promise<Answer> => {
    const response = await host(new Request(`http://localhost${path}`, { method: 'POST', body: JSON.stringify(body) }));
    return (await response.json()) as Answer;
  };
  const list = createDueList((runId) => post('/tick', { runId }));
  engineOf({ graphs, forMs }).dispatchBy(list);
  return {
    ...list,
    async sweep() {
      const { runs } = await post<{ readonly runs: readonly { readonly runId: string }[] }>('/sweep');
      for (const { runId } of runs) await list.wake(runId, 0);
    },
  };
}

describe('fetch', () => {
  hostSuite({ test, create: (runs) => overFetch(runs), createLimited: overFetch, runs: 20 });
});

describe('a worker', () => {
  hostSuite({
    test,
    runs: 20,
    isReliable: false,
    create({ graphs }) {
      const worker = createWorker({ graphs, pollMs: 20 });
      return {
        wake: async () => {},
        sweep: async () => void (await worker.look()),
        stop: () => worker.stop(),
      };
    },
  });
});

describe('a host that repeats, delays, reorders and loses wakes', () => {
  hostSuite({
    test,
    runs: 20,
    isReliable: false,
    create({ graphs, forMs }) {
      const engine = engineOf({ graphs, forMs });
      const odd = (count: number) => ({
        copies: [1, 0, 2, 1, 3, 0, 1][count % 7] as number,
        delayMs: (count * 37) % 50,
      });
      const list = createDueList((runId) => engine.advance(runId, { forMs }), odd);
      engine.dispatchBy(list);
      return {
        ...list,
        async sweep() {
          for (const runId of await engine.listClaimable({ limit: 100 })) await list.wake(runId, 0);
        },
      };
    },
  });
});

test('HO8 a run that is under way is advanced again at once, after a cancel too, and others when they are due', () => {
  const next = (result: AdvanceResult): number | undefined => nextSliceMs(result, 1_000);
  expect([next({ status: 'running' }), next({ status: 'cancelling' })]).toEqual([0, 0]);
  expect([
    next({ status: 'held', by: 'w', until: 1_500 }),
    next({ status: 'paused', dueAt: 900, asks: false }),
  ]).toEqual([500, 0]);
  expect([next({ status: 'paused', asks: true }), next({ status: 'cancelled' })]).toEqual([undefined, undefined]);
});
