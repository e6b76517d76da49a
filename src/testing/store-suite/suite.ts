/** What each test of the suite is given. */

import type { Store } from '../../ports/store.ts';

/** A store made for one test. */
export interface StoreUnderTest {
  /** Empty. */
  readonly store: Store;
  /** Lets the store's clock go on by so many ms: leases run out by it. */
  readonly advance: (byMs: number) => void | Promise<void>;
  /** Opens what `store` holds once more, as another process would. Left out: it cannot be shared. */
  readonly reopen?: () => Store | Promise<Store>;
  /** Called when the test is over, after every store it opened was closed. */
  readonly dispose?: () => void | Promise<void>;
}

/** What an adapter may leave out. Default is that it supports everything; for what it does not, the suite asserts STORE_UNSUPPORTED. */
export interface StoreSupport {
  readonly pruning?: boolean;
  readonly removal?: boolean;
  readonly tags?: boolean;
}

export interface StoreSuiteOptions {
  /** The runner's: registers one test. */
  readonly test: (title: string, run: () => Promise<void>) => unknown;
  readonly create: () => StoreUnderTest | Promise<StoreUnderTest>;
  readonly supports?: StoreSupport;
  /** Of the random parts; each prints its seed when it fails. Default is 1. */
  readonly seed?: number;
}

/** What each test is given. */
export interface Fixture {
  readonly store: Store;
  readonly advance: (byMs: number) => Promise<void>;
  /** The same data through another store; `undefined` if it cannot be shared. Closed when the test is over. */
  readonly reopen: () => Promise<Store | undefined>;
  readonly supports: Required<StoreSupport>;
  readonly seed: number;
}

/** Tests by title. */
export type SuiteTests = Readonly<Record<string, (fixture: Fixture) => Promise<void>>>;

/** Tests of one concern. */
export interface SuitePart {
  /** What a store may leave out; `unsupported` is then run instead. */
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
