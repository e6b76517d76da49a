/** The door for tests: what adapters and graphs are held to, and what stands in for the outside. */

export { blobSuite, type BlobsUnderTest, type BlobSuiteOptions } from './blob-suite.ts';
export { createFaultyStore, type FaultRate, type FaultyStoreOptions, type StoreMethod } from './faulty-store.ts';
export { networkFaults, putNetworkBefore, type NetworkFaults } from './network-under-test.ts';
export { createSeededRandom, type SeededRandom } from './seeded-random.ts';
export { storeSuite } from './store-suite.ts';
export type { StoreSuiteOptions, StoreSupport, StoreUnderTest } from './store-suite/suite.ts';
export { createVirtualClock, type VirtualClock, type VirtualClockOptions } from './virtual-clock.ts';

export {
  crashEverywhere,
  type CrashCase,
  type CrashFault,
  type CrashKitOptions,
  type CrashReport,
  type CrashStorage,
} from './crash-kit.ts';
export type { CrashUsers } from './crash-kit-drive.ts';
export type { CrashPoint, CrashProcess } from './crash-kit-process.ts';
export { crashProcesses, type CrashProcessesOptions } from './crash-kit-real.ts';
export { runCrashScript, type CrashResult, type CrashScript } from './crash-kit-script.ts';
export {
  createEffectOracle,
  findEffectFaults,
  openEffectJournal,
  type EffectEntry,
  type EffectOracle,
  type EffectPromise,
} from './effect-oracle.ts';
export { buildRandomGraph, randomGraphCase, randomGraphInput } from './random-graph.ts';
export { planRandomGraph, type RandomGraphOptions, type RandomGraphPlan } from './random-graph-plan.ts';
export { simulate, type SimulationOptions, type SimulationReport } from './simulate.ts';
export { createScriptedModels, type Script, type ScriptedAnswer, type ScriptedModels } from '../models/scripted.ts';
