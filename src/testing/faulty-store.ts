/** Puts between a store and its user what a network puts there. */

import { CairnError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { Commit, Store } from '../ports/store.ts';
import { createSeededRandom, type SeededRandom } from './seeded-random.ts';

export type StoreMethod = Exclude<keyof Store, 'name' | 'capabilities' | 'watch' | 'findDamage' | 'close'>;

/** In [0, 1]; the same for every call, or by method. */
export type FaultRate = number | ((method: StoreMethod) => number);

export interface FaultyStoreOptions {
  /** Latency is waited for on it. */
  readonly clock: Clock;
  /** Decides every fault: the same seed repeats them. */
  readonly seed: number;
  /** The most a call takes on its way there, and again on its way back. Default is 0: calls are passed on at once. */
  readonly latencyMs?: number;
  /** Whether a call may overtake one made before it. Commits of one run never overtake each other. Default is `false`. */
  readonly reorder?: boolean;
  /** How often a call is lost on its way there: STORE_UNAVAILABLE, nothing was done. Default is 0. */
  readonly failBefore?: FaultRate;
  /** How often the reply is lost on its way back: STORE_UNAVAILABLE, though it was done. Default is 0. */
  readonly loseAck?: FaultRate;
  /** Whether the process that makes the calls is dead: its calls go nowhere and it hears of nothing. Default is never. */
  readonly isDead?: () => boolean;
}

type Call = (...args: readonly unknown[]) => Promise<unknown>;

/** Every call of the port that takes its way there and back. */
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
  'renewClaim',
  'releaseClaim',
  'commit',
  'readCheckpoints',
  'readSnapshot',
  'writeSnapshot',
  'postMessage',
  'readMessages',
  'listWaits',
  'tagCheckpoint',
  'removeTag',
  'readTags',
  'pruneRun',
];

/** Wraps a store: latency, reordering, lost requests, lost acknowledgements and death, all decided by a seed. */
export function createFaultyStore(store: Store, options: FaultyStoreOptions): Store {
  const network = new Network(store.name, options);
  const calls = storeMethods.map((method): [StoreMethod, Call] => {
    const call = (store[method] as Call).bind(store);
    return [method, (...args) => network.carry(method, args, call)];
  });
  return {
    name: store.name,
    capabilities: store.capabilities,
    ...Object.fromEntries(calls),
    ...(store.watch && { watch: (tenant: string, wake: () => void) => store.watch?.(tenant, network.delayed(wake)) }),
    ...(store.findDamage && { findDamage: () => store.findDamage?.() }),
    close: () => network.close(() => store.close()),
  } as Store;
}

class Network {
  readonly #store: string;
  readonly #options: FaultyStoreOptions;
  readonly #random: SeededRandom;
  /** Calls that have not been replied to. */
  readonly #underWay = new Set<Promise<unknown>>();
  /** The last call sent on each lane; those of one lane arrive in order. */
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
    // A request is written down when it is sent: what its sender does to it later does not matter.
    const sent = structuredClone(args);
    const reply = this.#finish(arrived, isLost, isReplyLost, () => call(...sent));
    this.#underWay.add(reply);
    const forget = (): void => void this.#underWay.delete(reply);
    reply.then(forget, forget);
    return reply;
  }

  /** A word from the store takes its time too, and may come to nobody. */
  delayed(wake: () => void): () => void {
    return () => {
      void this.#delay().then(() => {
        if (!this.#isDead()) wake();
      });
    };
  }

  /** Closing is no call over the network, and waits for those under way. */
  async close(close: () => Promise<void>): Promise<void> {
    if (!this.#isDead()) await Promise.allSettled(this.#underWay);
    await close();
  }

  /** Resolves when the call has come to the store. */
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
    if (isLost) throw this.#unavailable('the request was lost');
    const [reply] = await Promise.allSettled([call()]);
    await this.#delay();
    if (this.#isDead()) return never();
    // A refusal gets lost like any other reply.
    if (isReplyLost) throw this.#unavailable('the acknowledgement was lost');
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

  #unavailable(reason: string): CairnError {
    return new CairnError('STORE_UNAVAILABLE', { store: this.#store, reason });
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
