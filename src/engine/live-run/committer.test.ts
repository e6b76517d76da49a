/** How long a run keeps what it has to write while its store is away. */
import { expect, test } from 'vitest';
import { createBench, edges, graphOf, node } from '../../../test/engine-kit.ts';
import { CairnError } from '../../errors.ts';
import type { Store } from '../../ports/store.ts';
import { createMemoryStore } from '../../stores/memory/index.ts';
import { createVirtualClock, type VirtualClock } from '../../ports/virtual-clock.ts';

const minuteMs = 60_000;

interface Away {
  readonly store: Store;
  readonly clock: VirtualClock;
  /** Called by a node: from now on the store is away for so long. */
  readonly goAway: (forMs: number) => void;
  readonly tries: () => number;
}

/** A store that is away for a while. Its clock is the engine's, as leases go by it. */
function createAwayStore(): Away {
  const clock = createVirtualClock({ isAutomatic: true });
  const inner = createMemoryStore({ now: clock.now });
  let [until, tries] = [0, 0];
  const refuse = (): void => {
    if (clock.now() < until)
      throw new CairnError('STORE_UNAVAILABLE', { store: 'm', reason: 'failing over', written: 'no' });
  };
  const store: Store = {
    ...inner,
    commit: async (commit) => {
      tries += 1;
      refuse();
      return inner.commit(commit);
    },
    renewClaims: async (claims) => {
      refuse();
      return inner.renewClaims(claims);
    },
  };
  return {
    store,
    clock,
    goAway: (forMs) => {
      until = clock.now() + forMs;
      tries = 0;
    },
    tries: () => tries,
  };
}

test('E4 commits are sent again for five minutes, and what happened before is written then', async () => {
  const { store, clock, goAway, tries } = createAwayStore();
  const { engine } = createBench({ store, clock });
  const effects: string[] = [];
  const graph = graphOf(
    'g',
    [
      node('pay', 'external', () => {
        effects.push('pay');
        goAway(4.9 * minuteMs);
        return 'receipt';
      }),
      node('thank', 'external', () => effects.push('thank')),
    ],
    edges('> pay', 'pay > thank', 'thank >'),
  );
  const handle = await engine.start(graph, {});
  expect(await handle.result()).toMatchObject({ status: 'completed' });
  expect(effects).toEqual(['pay', 'thank']);
  // With a delay that grows to 5 s, not without pause.
  expect(tries()).toBeGreaterThan(50);
  expect(tries()).toBeLessThan(90);
  await engine.close();
});

test('E4 after five minutes the run is given up here, and says that the store was away', async () => {
  const { store, clock, goAway } = createAwayStore();
  const { engine } = createBench({ store, clock });
  let startedAt = 0;
  const graph = graphOf(
    'g',
    [
      node('pay', 'external', () => {
        startedAt = clock.now();
        goAway(60 * minuteMs);
      }),
    ],
    edges('> pay', 'pay >'),
  );
  const handle = await engine.start(graph, {});
  await expect(handle.result()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', data: { written: 'no' } });
  const tookMs = clock.now() - startedAt;
  expect(tookMs).toBeGreaterThan(4.8 * minuteMs);
  expect(tookMs).toBeLessThanOrEqual(5.1 * minuteMs);
  await engine.close();
});

test('O1 the last commit gives the claim up, and one that was written before its reply was lost is still the last', async () => {
  const clock = createVirtualClock({ isAutomatic: true });
  const inner = createMemoryStore({ now: clock.now });
  const calls: string[] = [];
  const store: Store = {
    ...inner,
    commit: async (commit) => {
      const reply = await inner.commit(commit);
      calls.push(commit.releases === true ? 'commit that releases' : 'commit');
      if (commit.releases === true && calls.filter((call) => call === 'commit that releases').length === 1)
        throw new CairnError('STORE_UNAVAILABLE', { store: 'm', reason: 'reset', written: 'unknown' });
      return reply;
    },
    releaseClaim: async (...given) => {
      calls.push('release');
      return inner.releaseClaim(...given);
    },
  };
  const { engine } = createBench({ store, clock });
  const graph = graphOf('g', [node('a', 'write', () => 1)], edges('> a', 'a >'));
  const handle = await engine.start(graph, {}, { runId: 'r' });
  expect(await handle.result()).toMatchObject({ status: 'completed' });
  expect(calls.slice(-2)).toEqual(['commit that releases', 'commit that releases']);
  expect(calls).not.toContain('release');
  expect((await store.readRun({ tenant: 'default', runId: 'r' }))?.claim).toBeUndefined();
  await engine.close();
});
