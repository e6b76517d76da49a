/** A receiver of effects outside of the engine, which remembers every effect (P2). */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Reconciliation } from '../../graph/contracts/node-contract.ts';

/**
 * What is promised about an effect. `once`: it happens exactly once, whatever crashes, because it can be reconciled or a person is asked.
 * `repeatable`: it was declared idempotent and may be sent again.
 */
export type EffectPromise = 'once' | 'repeatable';

/** One effect that arrived. */
export interface EffectEntry {
  /** The idempotency key that was sent with it (X1). */
  readonly key: string;
  /** The activation or step that sent it. Each place has one key, and each key one place. */
  readonly place: string;
  readonly promise: EffectPromise;
  /** The result of the effect, as JSON. */
  readonly output: unknown;
  /** Whether the sender reports a failure although the effect happened. A person who is asked then answers `fail`. */
  readonly fails?: boolean;
  /** For a watched call: it has begun, and its end is not known. */
  readonly isBegun?: boolean;
}

/** Thrown when a killed process tries to reach the outside. */
export class ProcessKilled extends Error {
  constructor() {
    super('this process was killed');
    this.name = 'ProcessKilled';
  }
}

/** Remembers effects in the order of their arrival. */
export interface EffectOracle {
  /** Lets the effect happen. It is recorded when this returns; an oracle in a file records it durably. */
  apply(entry: EffectEntry): void;
  readonly entries: readonly EffectEntry[];
  /** The first effect that arrived with this key. */
  find(key: string): EffectEntry | undefined;
  /** The answer for a node's `reconcile`. */
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

/** Makes an oracle in memory, for engines in this process. */
export function createEffectOracle(): EffectOracle {
  const entries: EffectEntry[] = [];
  return createOracle(
    () => entries,
    (entry) => void entries.push(entry),
  );
}

/**
 * Opens an oracle in a file, for processes that are killed. Each effect is one line, appended and synced before `apply` returns.
 * @param path - created if it does not exist
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
