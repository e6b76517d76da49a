/** Puts an unreliable network between the store suite and the store, and repeats the calls that it lost. */

import { CairnError } from '../../../errors.ts';
import type { Store } from '../../../ports/store.ts';
import { createFaultyStore, storeMethods, type FaultyStoreOptions, type StoreMethod } from '../../faulty-store.ts';
import { createSeededRandom } from '../../../ports/seeded-random.ts';
import { createVirtualClock, type VirtualClock } from '../../../ports/virtual-clock.ts';
import type { StoreUnderTest } from '../examples.ts';

export type NetworkFaults = Omit<FaultyStoreOptions, 'clock' | 'seed' | 'isDead'>;

/**
 * Methods for which a repeated call gets the same reply, so that the reply may be lost. For other methods the reply to a repetition
 * differs, which other tests cover.
 */
const repeatable: ReadonlySet<StoreMethod> = new Set([
  'commit',
  'renewClaims',
  'releaseClaim',
  'noteWorker',
  'listWorkers',
  'writeSnapshot',
  'tagCheckpoint',
  'removeTag',
  'pruneRun',
  'readRun',
  'readCheckpoints',
  'readMessages',
  'hasMessage',
  'listWaits',
]);

/** The faults of the network: latency, reordering, lost requests, lost replies. */
export const networkFaults: NetworkFaults = {
  latencyMs: 20,
  reorder: true,
  // A lost commit makes the commits after it fail. The caller has to handle that, not this wrapper.
  failBefore: (method) => (method === 'commit' ? 0 : 0.1),
  loseAck: (method) => (repeatable.has(method) ? 0.1 : 0),
};

/** The store behind such a network, for the store suite. */
export function putNetworkBefore(made: StoreUnderTest, faults: NetworkFaults, seed: number): StoreUnderTest {
  const random = createSeededRandom(seed);
  const clock = createVirtualClock({ seed: random.integer(2 ** 32) });
  const wrap = (store: Store): Store =>
    askAgain(createFaultyStore(store, { ...faults, clock, seed: random.integer(2 ** 32) }), clock);
  const { reopen } = made;
  return { ...made, store: wrap(made.store), ...(reopen && { reopen: async () => wrap(await reopen()) }) };
}

type Call = (...args: readonly unknown[]) => Promise<unknown>;

/** Advances the network's time while calls are in progress. */
function askAgain(store: Store, clock: VirtualClock): Store {
  const underWay = new Set<Promise<unknown>>();
  let isPumping = false;
  // A store may take its time to answer, so the network's time goes on until nothing is under way.
  const pump = async (): Promise<void> => {
    if (isPumping) return;
    isPumping = true;
    while (underWay.size > 0) {
      await clock.runUntilIdle();
      await new Promise((resolve) => setImmediate(resolve));
    }
    isPumping = false;
  };
  const repeated = (call: Call): Call => {
    const ask: Call = async (...args) => {
      try {
        return await call(...args);
      } catch (error) {
        if (CairnError.is(error, 'STORE_UNAVAILABLE')) return ask(...args);
        throw error;
      }
    };
    return (...args) => {
      const reply = ask(...structuredClone(args));
      underWay.add(reply);
      void pump();
      return reply.finally(() => underWay.delete(reply));
    };
  };
  const calls = storeMethods.map((method) => [method, repeated((store[method] as Call).bind(store))] as const);
  const part = <Part extends object>(methods: Part): Part =>
    Object.fromEntries(Object.entries(methods).map(([name, call]: [string, Call]) => [name, repeated(call)])) as Part;
  const close = async (): Promise<void> => {
    await Promise.allSettled(underWay);
    await store.close();
  };
  return {
    ...store,
    ...Object.fromEntries(calls),
    ...(store.removals && { removals: part(store.removals) }),
    ...(store.ended && { ended: part(store.ended) }),
    close,
  };
}
