/** The way between a simulated worker and the store: calls take time, get lost, are acknowledged in vain, and kill or freeze the worker. */
import type { Store } from '../../src/ports/store.ts';
import { createFaultyStore } from '../../src/testing/faulty-store.ts';
import type { SeededRandom } from '../../src/ports/seeded-random.ts';
import type { ProcessClock, VirtualProcess } from '../../src/ports/virtual-clock.ts';

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
    lostBefore: rate(0.2),
    lostAfter: rate(0.2),
    killed: rate(0.2),
    frozen: rate(0.1),
    latencyMsMost: random.pick([0, 5, 40, 400]),
  };
}

/** A process as the simulation treats it: it may die, and it may be frozen for a while and go on. */
export interface SimulatedProcess extends VirtualProcess {
  isDead: boolean;
  frozenUntilMs: number | undefined;
  /** Freezes it may still suffer; they are few, so that what it had begun ends before its deadlines. */
  freezesLeft: number;
}

export interface NetworkOptions {
  readonly store: Store;
  readonly clock: ProcessClock;
  readonly random: SeededRandom;
  readonly process: SimulatedProcess;
  /** The rates that hold now: faults end some time, so that liveness can be checked. */
  readonly rates: () => FaultRates;
  /** Freezes last up to this, well past a lease. */
  readonly freezeMsMost: number;
}

/** Wraps the store for one process: a faulty network, and calls at which the process is killed or frozen. */
export function createNetworkStore(options: NetworkOptions): Store {
  const { clock, random, process, rates } = options;
  const network = createFaultyStore(options.store, {
    clock,
    seed: random.integer(2 ** 32),
    latencyMs: rates().latencyMsMost,
    reorder: random.chance(0.5),
    failBefore: () => rates().lostBefore,
    loseAck: () => rates().lostAfter,
    isDead: () => process.isDead,
  });
  return new Proxy(network, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...args: readonly unknown[]) =>
        travel(options, () => Reflect.apply(member, target, args) as Promise<unknown>);
    },
  });
}

async function travel(options: NetworkOptions, work: () => Promise<unknown>): Promise<unknown> {
  const { process, random, rates, clock } = options;
  const { killed, frozen } = rates();
  if (random.chance(killed / 2)) return die(process);
  if (random.chance(frozen)) freeze(options);
  const [reply] = await Promise.allSettled([work()]);
  if (random.chance(killed / 2)) return die(process);
  if (process.frozenUntilMs !== undefined && process.frozenUntilMs > clock.now()) await clock.sleep(0);
  if (reply.status === 'rejected') throw reply.reason;
  return reply.value;
}

function freeze({ process, clock, random, freezeMsMost }: NetworkOptions): void {
  if (process.freezesLeft === 0) return;
  process.freezesLeft -= 1;
  process.frozenUntilMs = clock.now() + random.integer(freezeMsMost);
}

function die(process: SimulatedProcess): Promise<never> {
  process.isDead = true;
  return new Promise(() => {});
}
