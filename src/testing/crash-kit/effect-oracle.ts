/** A receiver of effects that stands outside the engine and remembers what happened to it (P2). */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Reconciliation } from '../../graph/contracts/node-contract.ts';

/**
 * What is promised of an effect: `once`, it happens exactly once whatever crashes (it can be reconciled, or an
 * effect in doubt is asked about); `repeatable`, it was declared idempotent and may be sent again.
 */
export type EffectPromise = 'once' | 'repeatable';

/** One effect as it arrived. */
export interface EffectEntry {
  /** The idempotency key it came with (X1). */
  readonly key: string;
  /** Which activation or step sent it: one place has one key and one key has one place. */
  readonly place: string;
  readonly promise: EffectPromise;
  /** What the effect answered: JSON. */
  readonly output: unknown;
  /** The sender reports a failure although the effect happened: a person who is asked says `fail`. */
  readonly fails?: boolean;
  /** Of a call that the kit watches: it has begun, and nothing is known of its end. */
  readonly isBegun?: boolean;
}

/** Thrown where a killed process reaches for the outside. */
export class ProcessKilled extends Error {
  constructor() {
    super('this process was killed');
    this.name = 'ProcessKilled';
  }
}

/** Remembers effects in the order in which they arrived. */
export interface EffectOracle {
  /** The effect happens: it is on record, durably where the oracle is a file, when this returns. */
  apply(entry: EffectEntry): void;
  readonly entries: readonly EffectEntry[];
  /** The first effect that came with this key. */
  find(key: string): EffectEntry | undefined;
  /** Answers a node's `reconcile`. */
  reconcile(key: string): Reconciliation;
}

function createOracle(read: () => readonly EffectEntry[], apply: (entry: EffectEntry) => void): EffectOracle {
  const find = (key: string): EffectEntry | undefined =>
    read().find((entry) => entry.key === key && entry.isBegun !== true);
  return {
    apply,
    get entries() {
      return read();
    },
    find,
    reconcile: (key) => {
      const entry = find(key);
      return entry === undefined ? { happened: false } : { happened: true, output: entry.output };
    },
  };
}

/** An oracle in memory: for engines of this process. */
export function createEffectOracle(): EffectOracle {
  const entries: EffectEntry[] = [];
  return createOracle(
    () => entries,
    (entry) => void entries.push(entry),
  );
}

/**
 * An oracle in a file, for processes that are killed: one line an effect, appended and synced before `apply` returns.
 * @param path - made if it does not exist
 */
export function openEffectJournal(path: string): EffectOracle {
  const read = (): readonly EffectEntry[] => {
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as EffectEntry);
  };
  return createOracle(read, (entry) => {
    const file = openSync(path, 'a', 0o600);
    try {
      writeSync(file, `${JSON.stringify(entry)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  });
}
