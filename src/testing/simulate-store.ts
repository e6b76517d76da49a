/** The way between a simulated worker and the store: calls take time, get lost, are acknowledged in vain, and kill or freeze the worker. */
import { CairnError } from '../errors.ts';
import type { Store } from '../ports/store.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { ProcessState, SimulatedTime } from './simulate-time.ts';

/** What may go wrong, drawn once for each simulation so that some are rough in one way and some in another. */
export interface FaultRates {
  /** Probability that a call never arrives, and fails. */
  readonly lostBefore: number;
  /** Probability that a call is done, and fails all the same: its acknowledgement is lost. */
  readonly lostAfter: number;
  readonly killed: number;
  readonly frozen: number;
  /** The longest a call takes each way. */
  readonly latencyMsMost: number;
}

/** Nothing goes wrong, and nothing takes time. */
export const noFaults: FaultRates = { lostBefore: 0, lostAfter: 0, killed: 0, frozen: 0, latencyMsMost: 0 };

/** Draws how rough a simulation is. */
export function drawFaultRates(random: SeededRandom): FaultRates {
  const rate = (most: number): number => (random.chance(0.5) ? random.next() * most : 0);
  return {
    lostBefore: rate(0.1),
    lostAfter: rate(0.1),
    killed: rate(0.06),
    frozen: rate(0.04),
    latencyMsMost: random.pick([0, 5, 40, 400]),
  };
}

/** A process as the simulation treats it: it may die, and it may be frozen for a while and go on. */
export interface SimulatedProcess extends ProcessState {
  isDead: boolean;
  frozenUntilMs: number | undefined;
  /** Freezes it may still suffer; they are few, so that what it had begun ends before its deadlines. */
  freezesLeft: number;
}

export interface NetworkOptions {
  readonly store: Store;
  readonly time: SimulatedTime;
  readonly random: SeededRandom;
  readonly process: SimulatedProcess;
  /** The rates that hold now: faults end some time, so that liveness can be checked. */
  readonly rates: () => FaultRates;
  /** Freezes last up to this, well past a lease. */
  readonly freezeMsMost: number;
}

/** Wraps the store for one process. */
export function createNetworkStore(options: NetworkOptions): Store {
  const { store } = options;
  const call = <Reply>(work: () => Promise<Reply>): Promise<Reply> => travel(options, work);
  return {
    name: store.name,
    capabilities: store.capabilities,
    admitRun: (admission) => call(() => store.admitRun(admission)),
    commit: (commit) => call(() => store.commit(commit)),
    postMessage: (message) => call(() => store.postMessage(message)),
    readRun: (key) => call(() => store.readRun(key)),
    findRuns: (tenant, prefix, limit) => call(() => store.findRuns(tenant, prefix, limit)),
    listRuns: (query) => call(() => store.listRuns(query)),
    removeRun: (key) => call(() => store.removeRun(key)),
    claimRun: (request) => call(() => store.claimRun(request)),
    renewClaim: (claim) => call(() => store.renewClaim(claim)),
    releaseClaim: (claim) => call(() => store.releaseClaim(claim)),
    readCheckpoints: (key, range) => call(() => store.readCheckpoints(key, range)),
    readSnapshot: (key, atOrBefore) => call(() => store.readSnapshot(key, atOrBefore)),
    writeSnapshot: (key, snapshot) => call(() => store.writeSnapshot(key, snapshot)),
    readMessages: (key) => call(() => store.readMessages(key)),
    listWaits: (query) => call(() => store.listWaits(query)),
    tagCheckpoint: (key, tag) => call(() => store.tagCheckpoint(key, tag)),
    removeTag: (key, name) => call(() => store.removeTag(key, name)),
    readTags: (key) => call(() => store.readTags(key)),
    pruneRun: (prune) => call(() => store.pruneRun(prune)),
    close: () => Promise.resolve(),
  };
}

async function travel<Reply>(options: NetworkOptions, work: () => Promise<Reply>): Promise<Reply> {
  const { process, random, rates, time } = options;
  if (process.isDead) return never();
  const { lostBefore, lostAfter, killed, frozen, latencyMsMost } = rates();
  if (random.chance(killed / 2)) return die(process);
  if (random.chance(frozen)) freeze(options);
  await delay(options, latencyMsMost);
  if (random.chance(lostBefore)) throw unavailable('the request was lost');
  const reply = await work();
  if (random.chance(killed / 2)) return die(process);
  await delay(options, latencyMsMost);
  if (process.frozenUntilMs !== undefined && process.frozenUntilMs > time.nowMs) await time.sleep(process, 0);
  if (random.chance(lostAfter)) throw unavailable('the acknowledgement was lost');
  return reply;
}

function delay({ time, random, process }: NetworkOptions, latencyMsMost: number): Promise<void> | undefined {
  if (latencyMsMost === 0) return undefined;
  return time.sleep(process, random.integer(latencyMsMost + 1));
}

function freeze({ process, time, random, freezeMsMost }: NetworkOptions): void {
  if (process.freezesLeft === 0) return;
  process.freezesLeft -= 1;
  process.frozenUntilMs = time.nowMs + random.integer(freezeMsMost);
}

function die<Value>(process: SimulatedProcess): Promise<Value> {
  process.isDead = true;
  return never();
}

function never<Value>(): Promise<Value> {
  return new Promise<Value>(() => {});
}

function unavailable(reason: string): CairnError {
  return new CairnError('STORE_UNAVAILABLE', { store: 'simulated', reason });
}
