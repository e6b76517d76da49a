import { describe, expect, test } from 'vitest';
import { networkFaults, putNetworkBefore } from '../../testing/store-suite/random/network-under-test.ts';
import { storeSuite } from '../../testing/store-suite/store-suite.ts';
import type { StoreUnderTest } from '../../testing/store-suite/examples.ts';
import { createMemoryStore } from './memory-store.ts';

function createUnderTest(): StoreUnderTest {
  let now = 1_700_000_000_000;
  return {
    store: createMemoryStore({ now: () => now }),
    advance: (byMs) => {
      now += byMs;
    },
  };
}

describe('memory store', () => {
  storeSuite({ test, create: createUnderTest });
});

describe('memory store on a clock that never stands still', () => {
  const create = (): StoreUnderTest => {
    let now = 1_700_000_000_000;
    const advance = (byMs: number): void => void (now += byMs);
    return { store: createMemoryStore({ now: () => (now += 1) }), advance };
  };
  storeSuite({ test, create });
});

describe('memory store behind a wrapper that does nothing', () => {
  storeSuite({ test, create: () => putNetworkBefore(createUnderTest(), {}, 1), seed: 2 });
});

describe('memory store behind a network', () => {
  let seed = 100;
  storeSuite({ test, create: () => putNetworkBefore(createUnderTest(), networkFaults, (seed += 1)), seed: 3 });
});

test('S1 a memory store is named as it was told', () => {
  expect(createMemoryStore().name).toBe('memory:');
  expect(createMemoryStore({ name: 'memory:demo' }).name).toBe('memory:demo');
});
