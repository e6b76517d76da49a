/** One life of a process under test: what a graph's functions see of it, and its end. */
import { ProcessKilled, type EffectEntry, type EffectOracle } from './effect-oracle.ts';

/** A graph under test is built anew for each process, and reaches the outside through it: so a killed process does nothing more. */
export interface CrashProcess {
  /** A receiver of effects. A killed process cannot reach it any more: `apply` throws then. */
  readonly oracle: EffectOracle;
  /** Work that takes time on the process's clock; never resolves in a killed process. */
  readonly sleep: (delayMs: number) => Promise<void>;
}

/**
 * Where a process is killed: before or after its n-th write to the store, its n-th effect on the oracle, or its n-th call of a node or step
 * of class `write` or `external`, counted from 1. After a call means: it has returned, and nobody knows.
 */
export interface CrashPoint {
  readonly kind: 'write' | 'effect' | 'call';
  readonly number: number;
  readonly when: 'before' | 'after';
}

const kinds: readonly CrashPoint['kind'][] = ['write', 'effect', 'call'];

/** Counts the moments at which a process can be killed, and kills it at one of them. */
export class Life {
  isDead = false;
  readonly counts: Record<CrashPoint['kind'], number> = { write: 0, effect: 0, call: 0 };
  /** Numbers of calls whose effects went to the oracle: those have points of their own. */
  readonly callsToOracle: Set<number> = new Set();
  /** Resolves when the process is killed. */
  readonly death: Promise<void>;
  #resolveDeath: () => void = () => {};
  readonly #point: CrashPoint | undefined;
  readonly #kill: () => void;

  /** @param kill - what ends the process, besides this object's own silence; a real kill does not return */
  constructor(point?: CrashPoint, kill: () => void = () => {}) {
    this.#point = point;
    this.#kill = kill;
    this.death = new Promise((resolve) => {
      this.#resolveDeath = resolve;
    });
  }

  /** Counts a moment and says whether its point is to be killed after it; before it, the process is killed at once. */
  enter(kind: CrashPoint['kind']): 'go' | 'dead' | 'die after' {
    this.counts[kind] += 1;
    const { kind: fatal, number, when } = this.#point ?? {};
    if (fatal !== kind || number !== this.counts[kind]) return 'go';
    if (when === 'after') return 'die after';
    this.kill();
    return 'dead';
  }

  kill(): void {
    if (this.isDead) return;
    this.isDead = true;
    this.#kill();
    this.#resolveDeath();
  }

  /** Every point that this life has passed. */
  get points(): readonly CrashPoint[] {
    return kinds.flatMap((kind) =>
      Array.from({ length: this.counts[kind] }, (_, index) => index + 1)
        .filter((number) => kind !== 'call' || !this.callsToOracle.has(number))
        .flatMap((number) => (['before', 'after'] as const).map((when) => ({ kind, number, when }))),
    );
  }
}

/** The oracle as a process reaches it: not at all once it is dead, and with a point to be killed at on either side of each effect. */
export function mortalOracle(oracle: EffectOracle, life: Life): EffectOracle {
  const refuse = (): never => {
    throw new ProcessKilled();
  };
  return {
    apply: (entry: EffectEntry) => {
      if (life.isDead) refuse();
      const fate = life.enter('effect');
      if (fate === 'dead') refuse();
      oracle.apply(entry);
      if (fate === 'go') return;
      life.kill();
      refuse();
    },
    get entries() {
      return oracle.entries;
    },
    find: (key) => (life.isDead ? refuse() : oracle.find(key)),
    reconcile: (key) => (life.isDead ? refuse() : oracle.reconcile(key)),
  };
}

/** Never resolves: what a killed process waits for. */
export function never<Value>(): Promise<Value> {
  return new Promise<Value>(() => {});
}
