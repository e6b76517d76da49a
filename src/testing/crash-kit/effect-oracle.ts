/** A receiver of effects that stands outside the engine and remembers what happened to it (P2). */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Reconciliation } from '../../graph/node-contract.ts';

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
  const find = (key: string): EffectEntry | undefined => read().find((entry) => entry.key === key);
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

/**
 * The faults in what an oracle saw, one sentence each; none if the promises hold (P2).
 * @param expected - what the same run did when nothing crashed: then nothing may be missing and nothing may be new
 * @param repeatsMost - how often a repeatable effect may arrive under one key
 */
export function findEffectFaults(
  entries: readonly EffectEntry[],
  expected: readonly EffectEntry[] | undefined,
  repeatsMost: number,
): readonly string[] {
  const faults: string[] = [];
  const places = new Map<string, string>();
  const counts = new Map<string, number>();
  const keys = new Map<string, string>();
  for (const { key, place, promise } of entries) {
    const other = places.get(key) ?? place;
    if (other !== place) faults.push(`${place} and ${other} sent the same key`);
    if ((keys.get(place) ?? key) !== key) faults.push(`${place} sent two keys`);
    places.set(key, place);
    keys.set(place, key);
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    const most = promise === 'once' ? 1 : repeatsMost;
    if (count === most + 1) faults.push(`${place} (${promise}) happened more than ${most} times`);
  }
  if (expected === undefined) return faults;
  const wanted = new Set(expected.map((entry) => entry.place));
  for (const place of wanted) if (!keys.has(place)) faults.push(`${place} was lost`);
  for (const place of keys.keys()) if (!wanted.has(place)) faults.push(`${place} does not happen without a crash`);
  return faults;
}
