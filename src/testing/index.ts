/**
 * Kits for tests: suites for stores, blobs, nodes and graphs, and replacements for the outside world. The entry point
 * `cairn-workflows/testing`.
 */

// Crash a graph at every point of its run.
export { crashEverywhere } from './crash-kit/crash-everywhere.ts';
export type {
  CrashCase,
  CrashFault,
  CrashKitOptions,
  CrashReport,
  CrashStorage,
  CrashPoint,
  CrashProcess,
} from './crash-kit/process-life.ts';
export {
  crashProcesses,
  type CrashProcessesOptions,
  runCrashScript,
  type CrashResult,
  type CrashScript,
} from './crash-kit/crash-processes.ts';
export {
  type CrashUsers,
  createEffectOracle,
  openEffectJournal,
  type EffectEntry,
  type EffectOracle,
  type EffectPromise,
  findEffectFaults,
} from './crash-kit/find-effect-faults.ts';

// Replay recorded runs under other code.
export {
  replay,
  replayMatchers,
  type Replay,
  type Replayed,
  type ReplayedRun,
  type ReplayOptions,
} from './replay-runs.ts';

// Hold an adapter to its port.
export { storeSuite } from './store-suite/store-suite.ts';
export type { StoreSuiteOptions, StoreSupport, StoreUnderTest } from './store-suite/examples.ts';
export { networkFaults, putNetworkBefore, type NetworkFaults } from './store-suite/random/network-under-test.ts';
export { blobSuite, type BlobsUnderTest, type BlobSuiteOptions } from './blob-suite.ts';
export { memoriesSuite, type MemoriesSuiteOptions } from './memories-suite.ts';
export { hostSuite, type HostedRuns, type HostSuiteOptions, type HostUnderTest } from './host-suite.ts';
export { nodeSuite, type NodeSuiteOptions } from './node-suite/node-suite.ts';

// Stand in for the outside.
export {
  createFakeContext,
  type FakeContext,
  type FakeContextOptions,
  type FakeRecord,
  type FakeStep,
} from './node-suite/fake-context.ts';
export { createFaultyStore, type FaultRate, type FaultyStoreOptions, type StoreMethod } from './faulty-store.ts';
export {
  createVirtualClock,
  type ProcessClock,
  type VirtualClock,
  type VirtualClockOptions,
  type VirtualProcess,
} from '../ports/virtual-clock.ts';
