import { afterAll, describe, test } from 'vitest';
import { openOn, preparePostgres, type PostgresUnderTest } from '../../../test/support/postgres-store.ts';
import { blobSuite } from '../../testing/blob-suite.ts';
import { memoriesSuite } from '../../testing/memories-suite.ts';
import { networkFaults, putNetworkBefore } from '../../testing/store-suite/random/network-under-test.ts';
import { storeSuite } from '../../testing/store-suite/store-suite.ts';
import type { StoreUnderTest } from '../../testing/store-suite/examples.ts';

const server = await preparePostgres();
if (typeof server === 'string') console.warn(`The Postgres store was not tested: ${server}`);

const serverOf = (): PostgresUnderTest => server as PostgresUnderTest;

async function createUnderTest(): Promise<StoreUnderTest> {
  await serverOf().empty();
  return { store: openOn(serverOf()), advance: serverOf().advance, reopen: () => openOn(serverOf()) };
}

describe.skipIf(typeof server === 'string')(`Postgres store${typeof server === 'string' ? `: ${server}` : ''}`, () => {
  afterAll(() => serverOf().stop());

  describe('alone', () => {
    storeSuite({ test, create: createUnderTest });
  });

  describe('behind a network', () => {
    let seed = 500;
    storeSuite({
      test,
      create: async () => putNetworkBefore(await createUnderTest(), networkFaults, (seed += 1)),
      seed: 4,
    });
  });

  blobSuite({
    test,
    create: async () => {
      await serverOf().empty();
      const store = openOn(serverOf());
      return { blobs: store.blobs, advance: serverOf().advance, dispose: () => store.close() };
    },
  });

  memoriesSuite({
    test,
    create: async () => {
      await serverOf().empty();
      const store = openOn(serverOf());
      return { ...store.memories, close: () => store.close() };
    },
  });
});
