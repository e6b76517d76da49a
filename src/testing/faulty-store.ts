/** A wrapper around a store that behaves like an unreliable network. */

import { CairnError, maybeWritten, type ErrorData } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClaimableQuery, Commit, CountQuery, Store } from '../ports/store.ts';
import { createSeededRandom, type SeededRandom } from '../ports/seeded-random.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';

export type StoreMethod = Exclude<
  keyof Store,
  | 'name'
  | 'capabilities'
  | 'blobs'
  | 'limits'
  | 'removals'
  | 'ended'
  | 'watch'
  | 'hearsOthers'
  | 'readTime'
  | 'findDamage'
  | 'readSpace'
  | 'vacuum'
  | 'close'
>;

/** A probability in [0, 1], the same for all calls or by method. */
export type FaultRate = number | ((method: StoreMethod) => number);

export interface FaultyStoreOptions {
  /** Clock for the latency. */
  readonly clock: Clock;
  /** Seed that determines every fault: the same seed gives the same faults. */
  readonly seed: number;
  /** The longest time in ms that a call takes in each direction. Default 0: calls are passed on at once. */
  readonly latencyMs?: number;
  /** Whether a call may overtake an earlier one. Commits of one run never do. Default false. */
  readonly reorder?: boolean;
  /** Probability that a request is lost: STORE_UNAVAILABLE, and nothing was done. Default 0. */
  readonly failBefore?: FaultRate;
  /** Probability that a reply is lost: STORE_UNAVAILABLE, although the call was done. Default 0. */
  readonly loseAck?: FaultRate;
  /** Whether the calling process is dead: its calls are not sent, and it gets no replies. Default: never. */
  readonly isDead?: () => boolean;
}

type Call = (...args: readonly unknown[]) => Promise<unknown>;

const optionNames = Object.keys({
  clock: true,
  seed: true,
  latencyMs: true,
  reorder: true,
  failBefore: true,
  loseAck: true,
  isDead: true,
} satisfies Record<keyof FaultyStoreOptions, true>);

/** Every method of the port that goes over the network. */
export const storeMethods: readonly StoreMethod[] = [
  'readIdentity',
  'setIdentity',
  'admitRun',
  'readRun',
  'findRuns',
  'listRuns',
  'removeRun',
  'claimRun',
  'claimNext',
  'listClaimable',
  'renewClaims',
  'releaseClaim',
  'noteWorker',
  'listWorkers',
  'commit',
  'readCheckpoints',
  'readSnapshot',
  'writeSnapshot',
  'postMessage',
  'readMessages',
  'hasMessage',
  'listWaits',
  'clearDelivery',
  'tagCheckpoint',
  'removeTag',
  'readTags',
  'pruneRun',
];

/** Wraps a store with latency, reordering, lost requests, lost replies and death, all determined by a seed. */
export function createFaultyStore(store: Store, options: FaultyStoreOptions): Store {
  refuseUnknownKeys('createFaultyStore', options, optionNames);
  const network = new Network(store.name, options);
  const calls = storeMethods.map((method): [StoreMethod, Call] => {
    const call = (store[method] as Call).bind(store);
    return [method, (...args) => network.carry(method, args, call)];
  });
  /** The parts of the port that a store may lack. Their calls fare like a removal. */
  const part = <Part extends object>(methods: Part | undefined): Part | undefined =>
    methods &&
    (Object.fromEntries(
      Object.entries(methods).map(([name, call]: [string, Call]) => [
        name,
        (...args: readonly unknown[]) => network.carry('removeRun', args, call),
      ]),
    ) as Part);
  return {
    name: store.name,
    capabilities: store.capabilities,
    ...(store.limits && { limits: store.limits }),
    ...Object.fromEntries(calls),
    ...(store.removals && { removals: part(store.removals) }),
    ...(store.ended && { ended: part(store.ended) }),
    ...(store.watch && {
      watch: (tenant: string, wake: (runId?: string) => void) => store.watch?.(tenant, network.delayed(wake)),
    }),
    ...(store.hearsOthers && { hearsOthers: () => store.hearsOthers?.() }),
    ...(store.readTime && { readTime: () => store.readTime?.() }),
    ...(store.readBacklog && { readBacklog: (query: ClaimableQuery) => store.readBacklog?.(query) }),
    ...(store.countCodes && {
      countCodes: (tenant: string, graphs: readonly string[]) => store.countCodes?.(tenant, graphs),
    }),
    ...(store.countRuns && { countRuns: (query: CountQuery) => store.countRuns?.(query) }),
    ...(store.labelRun && { labelRun: part({ labelRun: store.labelRun.bind(store) })?.labelRun }),
    ...(store.countOpen && { countOpen: (tenant: string) => store.countOpen?.(tenant) }),
    ...(store.examine && { examine: () => store.examine?.() }),
    ...(store.findDamage && { findDamage: () => store.findDamage?.() }),
    ...(store.readSpace && { readSpace: () => store.readSpace?.() }),
    ...(store.vacuum && { vacuum: () => store.vacuum?.() }),
    close: () => network.close(() => store.close()),
  } as Store;
}

class Network {
  readonly #store: string;
  readonly #options: FaultyStoreOptions;
  readonly #random: SeededRandom;
  /** Calls that have not been answered. */
  readonly #underWay = new Set<Promise<unknown>>();
  /** For each lane, its last call. Calls of one lane arrive in order. */
  readonly #lanes = new Map<string, Promise<void>>();

  constructor(store: string, options: FaultyStoreOptions) {
    this.#store = store;
    this.#options = options;
    this.#random = createSeededRandom(options.seed);
  }

  carry(method: StoreMethod, args: readonly unknown[], call: Call): Promise<unknown> {
    const { failBefore = 0, loseAck = 0, latencyMs = 0, isDead } = this.#options;
    if (this.#isDead()) return never();
    const isLost = this.#happens(failBefore, method);
    const isReplyLost = this.#happens(loseAck, method);
    if (latencyMs === 0 && !isLost && !isReplyLost && this.#lanes.size === 0 && isDead === undefined)
      return call(...args);
    const arrived = this.#arrive(laneOf(method, args, this.#options.reorder ?? false));
    // Copied when it is sent, so that later changes by the caller have no effect.
    const sent = structuredClone(args);
    const reply = this.#finish(arrived, isLost, isReplyLost, () => call(...sent));
    this.#underWay.add(reply);
    const forget = (): void => void this.#underWay.delete(reply);
    reply.then(forget, forget);
    return reply;
  }

  /** A notification of the store is delayed too, and is dropped if its receiver is dead. */
  delayed(wake: (runId?: string) => void): (runId?: string) => void {
    return (runId) => {
      void this.#delay().then(() => {
        if (!this.#isDead()) wake(runId);
      });
    };
  }

  /** Closing does not go over the network. It waits for the calls in progress. */
  async close(close: () => Promise<void>): Promise<void> {
    if (!this.#isDead()) await Promise.allSettled(this.#underWay);
    await close();
  }

  /** Resolves when the call has reached the store. */
  #arrive(lane: string | undefined): Promise<void> {
    const delay = this.#delay();
    if (lane === undefined) return delay;
    const before = this.#lanes.get(lane);
    const arrived = before === undefined ? delay : Promise.all([delay, before]).then(() => undefined);
    this.#lanes.set(lane, arrived);
    void arrived.then(() => this.#lanes.get(lane) === arrived && this.#lanes.delete(lane));
    return arrived;
  }

  async #finish(
    arrived: Promise<void>,
    isLost: boolean,
    isReplyLost: boolean,
    call: () => Promise<unknown>,
  ): Promise<unknown> {
    await arrived;
    if (this.#isDead()) return never();
    if (isLost) throw this.#unavailable('the request was lost', { written: 'no' });
    const [reply] = await Promise.allSettled([call()]);
    await this.#delay();
    if (this.#isDead()) return never();
    // A refusal can be lost like any other reply.
    if (isReplyLost) throw this.#unavailable('the acknowledgement was lost', maybeWritten);
    if (reply.status === 'rejected') throw reply.reason;
    return reply.value;
  }

  #delay(): Promise<void> {
    const { clock, latencyMs = 0 } = this.#options;
    if (latencyMs === 0) return Promise.resolve();
    const delayMs = this.#random.integer(latencyMs + 1);
    return new Promise((resolve) => void clock.setTimer(delayMs, resolve));
  }

  #happens(rate: FaultRate, method: StoreMethod): boolean {
    return this.#random.chance(typeof rate === 'number' ? rate : rate(method));
  }

  #isDead(): boolean {
    return this.#options.isDead?.() === true;
  }

  #unavailable(reason: string, written: ErrorData): CairnError {
    return new CairnError('STORE_UNAVAILABLE', { store: this.#store, reason, ...written });
  }
}

/** Calls of one lane arrive in the order in which they were made. */
function laneOf(method: StoreMethod, args: readonly unknown[], canOvertake: boolean): string | undefined {
  if (!canOvertake) return '';
  if (method !== 'commit') return undefined;
  const { claim } = args[0] as Commit;
  return JSON.stringify([claim.tenant, claim.runId]);
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
