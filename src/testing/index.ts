/** The door for tests: what adapters and graphs are held to, and what stands in for the outside. */

export { createFaultyStore, type FaultRate, type FaultyStoreOptions, type StoreMethod } from './faulty-store.ts';
export { createSeededRandom, type SeededRandom } from './seeded-random.ts';
export { storeSuite } from './store-suite.ts';
export type { StoreSuiteOptions, StoreSupport, StoreUnderTest } from './store-suite/suite.ts';
export { createVirtualClock, type VirtualClock, type VirtualClockOptions } from './virtual-clock.ts';
