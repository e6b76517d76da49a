/** Finds faults in the effects that arrived: repeated, missing or unexpected effects, and keys that do not identify them (P2). */
import type { EffectEntry } from './effect-oracle.ts';

/**
 * The faults in what an oracle received, one sentence each; empty if the promises hold (P2).
 * @param expected - the effects of the same run without a crash: none of them may be missing, and there may be no others
 * @param repeatsMost - how often a repeatable effect may arrive with one key
 */
export function findEffectFaults(
  entries: readonly EffectEntry[],
  expected: readonly EffectEntry[] | undefined,
  repeatsMost: number,
): readonly string[] {
  const faults: string[] = [];
  const places = new Map<string, string>();
  const keys = new Map<string, string>();
  for (const { key, place } of entries) {
    const other = places.get(key) ?? place;
    if (other !== place) faults.push(`${place} and ${other} sent the same key; expected: each one of its own`);
    if ((keys.get(place) ?? key) !== key) faults.push(`${place} sent two keys; expected: the same each time`);
    places.set(key, place);
    keys.set(place, key);
  }
  faults.push(...findRepeats(entries, repeatsMost));
  if (expected === undefined) return faults;
  const wanted = new Set(expected.map((entry) => entry.place));
  for (const place of wanted)
    if (!keys.has(place)) faults.push(`${place} was lost; expected: it happens, as without a crash`);
  for (const place of keys.keys())
    if (!wanted.has(place)) faults.push(`${place} happened; expected: it does not, as without a crash`);
  return faults;
}

/**
 * The faults in the calls of nodes and steps, one sentence each. Calls from one place may have several keys, because the name of a step may
 * recur.
 * @param expected - as for {@link findEffectFaults}
 */
export function findCallFaults(
  entries: readonly EffectEntry[],
  expected: readonly EffectEntry[] | undefined,
): readonly string[] {
  const faults = [...findRepeats(entries, Infinity)];
  if (expected === undefined) return faults;
  const [found, wanted] = [countKeys(entries), countKeys(expected)];
  for (const place of new Set([...found.keys(), ...wanted.keys()])) {
    const [had, should] = [found.get(place) ?? 0, wanted.get(place) ?? 0];
    if (had !== should)
      faults.push(`${place} was called under ${had} keys; expected: under ${should}, as without a crash`);
  }
  return faults;
}

function findRepeats(entries: readonly EffectEntry[], repeatsMost: number): readonly string[] {
  const faults: string[] = [];
  const counts = new Map<string, number>();
  for (const { key, place, promise, isBegun } of entries) {
    if (isBegun === true) continue;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    const most = promise === 'once' ? 1 : repeatsMost;
    if (count !== most + 1) continue;
    const times = most === 1 ? 'once' : `at most ${most} times`;
    faults.push(`${place} (${promise}) happened ${count} times under one key; expected: ${times}`);
  }
  return faults;
}

function countKeys(entries: readonly EffectEntry[]): ReadonlyMap<string, number> {
  const keys = new Map<string, Set<string>>();
  for (const { key, place } of entries) keys.set(place, (keys.get(place) ?? new Set()).add(key));
  return new Map([...keys].map(([place, own]) => [place, own.size]));
}
