/** Compares a run that was killed with the same run that was never killed (P1, P2). */
import type { EffectEntry } from './effect-oracle.ts';
import { findCallFaults, findEffectFaults } from './find-effect-faults.ts';
import { compareSummaries, type RunSummary } from './run-summary.ts';

/** What is compared of a trial. */
export interface TrialEnd {
  readonly summary: RunSummary;
  /** The effects that reached the oracle. */
  readonly effects: readonly EffectEntry[];
  /**
   * Calls of nodes and steps that may have an effect, with their results, unless the effect was reported to the oracle. Absent if calls
   * were not watched.
   */
  readonly calls?: readonly EffectEntry[];
}

/** The differences between a crashed trial and one without a crash, one sentence each. */
export function compareTrials(
  isScheduleFree: boolean,
  crashes: number,
  expected: TrialEnd,
  found: TrialEnd,
): readonly string[] {
  const wanted = isScheduleFree ? expected : undefined;
  const faults = [
    ...findEffectFaults(found.effects, wanted?.effects, repeatsMost(expected.effects) + crashes),
    ...(found.calls === undefined ? [] : findCallFaults(found.calls, wanted?.calls)),
  ];
  if (isScheduleFree) return [...compareSummaries(expected.summary, found.summary), ...faults];
  const { status, error = '' } = found.summary;
  if (status === expected.summary.status) return faults;
  return [`the run is ${status}${error}; expected: ${expected.summary.status}`, ...faults];
}

/**
 * The fault of a run that does not complete although nothing killed it: it would be compared with a failure, and prove little. Undefined if it
 * completes, or need not.
 */
export function findQuietFault({ status, error = '' }: RunSummary, mayFail = false): string | undefined {
  if (mayFail || status === 'completed') return undefined;
  return `without a crash, the run is ${status}${error}; expected: it completes, or the case says mayFail: true`;
}

/** The most times that a repeatable effect arrives with one key even without a crash. */
function repeatsMost(entries: readonly EffectEntry[]): number {
  const counts = new Map<string, number>();
  for (const { key } of entries) counts.set(key, (counts.get(key) ?? 0) + 1);
  return Math.max(1, ...counts.values());
}
