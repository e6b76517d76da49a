/** One process under test: what a graph's functions see of it, and how it is killed. */
import { ProcessKilled, type EffectEntry, type EffectOracle } from './effect-oracle.ts';

/**
 * The process that a graph runs in. The graph is built again for each process and reaches the outside only through this object, so that a
 * killed process has no effects.
 */
export interface CrashProcess {
  /** Receives effects. In a killed process `apply` throws. */
  readonly oracle: EffectOracle;
  /** Waits on the process's clock. Never resolves in a killed process. */
  readonly sleep: (delayMs: number) => Promise<void>;
}

/**
 * Where a process is killed: before or after its n-th write to the store, its n-th effect on the oracle, or its n-th call of a node or step
 * of class `write` or `external`, counted from 1. After a call means that it has returned but its result is not recorded.
 */
export interface CrashPoint {
  readonly kind: 'write' | 'effect' | 'call';
  readonly number: number;
  readonly when: 'before' | 'after';
}

const kinds: readonly CrashPoint['kind'][] = ['write', 'effect', 'call'];

/** Counts the crash points that a process passes, and kills it at one of them. */
export class Life {
  isDead = false;
  readonly counts: Record<CrashPoint['kind'], number> = { write: 0, effect: 0, call: 0 };
  /** Numbers of calls whose effects were reported to the oracle; those effects are crash points of their own. */
  readonly callsToOracle: Set<number> = new Set();
  /** Resolves when the process is killed. */
  readonly death: Promise<void>;
  #resolveDeath: () => void = () => {};
  readonly #point: CrashPoint | undefined;
  readonly #kill: () => void;

  /** @param kill - ends the process in addition to silencing this object; a real kill does not return */
  constructor(point?: CrashPoint, kill: () => void = () => {}) {
    this.#point = point;
    this.#kill = kill;
    this.death = new Promise((resolve) => {
      this.#resolveDeath = resolve;
    });
  }

  /**
   * Counts a crash point. If the process must die before it, it is killed now. @returns whether to go on, and whether to kill the process
   * afterwards
   */
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

  /** Every point that this process has passed. */
  get points(): readonly CrashPoint[] {
    return kinds.flatMap((kind) =>
      Array.from({ length: this.counts[kind] }, (_, index) => index + 1)
        .filter((number) => kind !== 'call' || !this.callsToOracle.has(number))
        .flatMap((number) => (['before', 'after'] as const).map((when) => ({ kind, number, when }))),
    );
  }
}

/** The oracle as a process sees it: unreachable once the process is dead, with a crash point before and after each effect. */
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

/** A promise that never resolves; what a killed process waits for. */
export function never<Value>(): Promise<Value> {
  return new Promise<Value>(() => {});
}
