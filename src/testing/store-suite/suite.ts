/** The types of the suite, and what each of its tests is given. */

import type { Store } from '../../ports/store.ts';

/** A store made for one test. */
export interface StoreUnderTest {
  /** An empty store. */
  readonly store: Store;
  /** Advances the store's clock by this many milliseconds, so that leases run out. */
  readonly advance: (byMs: number) => void | Promise<void>;
  /** Opens the same data again, as another process would. Absent if the store cannot be shared. */
  readonly reopen?: () => Store | Promise<Store>;
  /** Called when the test has ended and every store that it opened is closed. */
  readonly dispose?: () => void | Promise<void>;
}

/** Features that an adapter may lack. Default: it has all. For those it lacks, the suite asserts STORE_UNSUPPORTED. */
export interface StoreSupport {
  readonly pruning?: boolean;
  readonly removal?: boolean;
  readonly tags?: boolean;
}

export interface StoreSuiteOptions {
  /** Registers one test; the `test` function of your test runner. */
  readonly test: (title: string, run: () => Promise<void>) => unknown;
  readonly create: () => StoreUnderTest | Promise<StoreUnderTest>;
  readonly supports?: StoreSupport;
  /** Seed of the random parts, which print it when they fail. Default 1. */
  readonly seed?: number;
}

/** What each test receives. */
export interface Fixture {
  readonly store: Store;
  readonly advance: (byMs: number) => Promise<void>;
  /** Opens the same data in another store; undefined if the store cannot be shared. Closed when the test has ended. */
  readonly reopen: () => Promise<Store | undefined>;
  readonly supports: Required<StoreSupport>;
  readonly seed: number;
}

/** Tests by title. */
export type SuiteTests = Readonly<Record<string, (fixture: Fixture) => Promise<void>>>;

/** The tests of one topic. */
export interface SuitePart {
  /** A feature that a store may lack. If it does, `unsupported` is run in place of `tests`. */
  readonly needs?: keyof StoreSupport;
  readonly unsupported?: SuiteTests;
  readonly tests: SuiteTests;
}

/** Registers the tests of a part. */
export function registerPart(part: SuitePart, { test, create, supports: given, seed = 1 }: StoreSuiteOptions): void {
  const supports = { pruning: true, removal: true, tags: true, ...given };
  const isSupported = part.needs === undefined || supports[part.needs];
  for (const [title, run] of Object.entries(isSupported ? part.tests : (part.unsupported ?? {}))) {
    test(title, () => useStore(create, (fixture) => run({ ...fixture, supports, seed })));
  }
}

async function useStore(
  create: StoreSuiteOptions['create'],
  run: (fixture: Omit<Fixture, 'supports' | 'seed'>) => Promise<void>,
): Promise<void> {
  const made = await create();
  const opened: Store[] = [made.store];
  try {
    await run({
      store: made.store,
      advance: async (byMs) => made.advance(byMs),
      reopen: async () => {
        const again = await made.reopen?.();
        if (again !== undefined) opened.push(again);
        return again;
      },
    });
  } finally {
    for (const store of opened) await store.close();
    await made.dispose?.();
  }
}
