/** What an experiment must not find, so that it can stand in the way of a merge. */
import { CairnError } from '../errors.ts';
import { verdicts, type Verdict } from './judge-item.ts';
import type { ExperimentResult } from './table.ts';

/** When an experiment fails. */
export interface Thresholds {
  /** Verdicts that no pair of any arm may have. */
  readonly failOn?: readonly Verdict[];
  /** The least share of equal pairs in each arm, from 0 to 1: of all its pairs, those that were not run too. */
  readonly minEqual?: number;
}

/** A verdict as it is written on a command line: `would-act`. @throws CONFIG_INVALID */
function readVerdict(text: string): Verdict {
  const verdict = verdicts.find((one) => one === text.trim().replaceAll('-', ' '));
  if (verdict !== undefined) return verdict;
  const reason = `${JSON.stringify(text)} is no verdict; they are ${verdicts.join(', ')}`;
  throw new CairnError('CONFIG_INVALID', { path: 'failOn', reason });
}

/** @throws CONFIG_INVALID */
export function readThresholds(failOn: readonly string[] | undefined, minEqual: unknown): Thresholds {
  const isShare = typeof minEqual === 'number' && minEqual >= 0 && minEqual <= 1;
  if (minEqual !== undefined && !isShare)
    throw new CairnError('CONFIG_INVALID', { path: 'minEqual', reason: 'it must be a number from 0 to 1' });
  return {
    ...(failOn && { failOn: failOn.flatMap((words) => words.split(',')).map(readVerdict) }),
    ...(isShare && { minEqual }),
  };
}

/** The thresholds that an experiment missed, a line each. */
export function missedThresholds(
  { arms }: Pick<ExperimentResult, 'arms'>,
  { failOn = [], minEqual }: Thresholds,
): readonly string[] {
  return Object.entries(arms).flatMap(([arm, { verdicts: counts }]) => {
    const missed = failOn.flatMap((verdict) =>
      counts[verdict] === undefined ? [] : [`${arm}: ${counts[verdict]} ${verdict}`],
    );
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0);
    const share = all === 0 ? 1 : (counts.equal ?? 0) / all;
    return minEqual !== undefined && share < minEqual
      ? [...missed, `${arm}: ${share.toFixed(3)} equal, and not ${minEqual}`]
      : missed;
  });
}
