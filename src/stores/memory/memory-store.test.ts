import { describe, expect, test } from 'vitest';
import { storeSuite } from '../../testing/store-suite.ts';
import type { StoreUnderTest } from '../../testing/store-suite/suite.ts';
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

test('S1 a memory store is named as it was told', () => {
  expect(createMemoryStore().name).toBe('memory:');
  expect(createMemoryStore({ name: 'memory:demo' }).name).toBe('memory:demo');
});
