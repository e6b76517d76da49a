/** The table of an experiment: for each arm how many pairs came to which verdict, and whether that is more than chance. */
import { seededRandom } from '../ports/seeded-random.ts';
import type { Amounts } from '../graph/amounts.ts';
import { addAmounts } from '../graph/amounts.ts';
import { verdicts, type Pair, type Row, type Verdict } from './judge-item.ts';
import { differenceOf, holm, meanOf, seedOf, type Difference } from './statistics.ts';

/** What the items say together of an arm, by one scorer. */
export interface ArmFinding extends Difference {
  readonly scorer: string;
  /** The chance, made larger for all arms and scorers that were looked at (Holm). */
  readonly adjusted: number;
  /** `too few to tell` is no word for no difference. */
  readonly conclusion: 'improved' | 'regressed' | 'too few to tell';
}

/** An arm's column of the table. */
export interface ArmSummary {
  /** Pairs by verdict. Their sum is the number of items times the repeats. */
  readonly verdicts: Readonly<Partial<Record<Verdict, number>>>;
  readonly findings: readonly ArmFinding[];
  /** What its forks have cost. */
  readonly spent: Amounts;
}

/** What an experiment found. */
export interface ExperimentResult {
  readonly name: string;
  /** Id of the run that holds it. */
  readonly runId: string;
  readonly items: number;
  readonly repeats: number;
  /** The items by what became of them under the baseline. */
  readonly baseline: Readonly<Partial<Record<Verdict, number>>>;
  /** How many items were recorded under another graph than the baseline's. */
  readonly otherCode: number;
  readonly arms: Readonly<Record<string, ArmSummary>>;
  readonly rows: readonly Row[];
  /** How many pairs people are still asked to review. Absent: none. */
  readonly openReviews?: number;
}

const alpha = 0.05;

function countOf(found: Iterable<Verdict>): Partial<Record<Verdict, number>> {
  const counts: Partial<Record<Verdict, number>> = {};
  for (const verdict of found) counts[verdict] = (counts[verdict] ?? 0) + 1;
  return counts;
}

/** The items' deltas by a scorer: for each the mean over its repeats. Items that say nothing have none. */
function deltasOf(rows: readonly Row[], arm: string, scorer: string): readonly number[] {
  return rows.flatMap(({ arms }) => {
    const own = (arms[arm] ?? []).flatMap(({ deltas }) => deltas?.[scorer] ?? []);
    return own.length === 0 ? [] : [meanOf(own)];
  });
}

/** Sums rows up. @param scorers - names */
export function summarise(
  { name, runId, repeats }: Pick<ExperimentResult, 'name' | 'runId' | 'repeats'>,
  rows: readonly Row[],
  arms: readonly string[],
  scorers: readonly string[],
): ExperimentResult {
  const random = seededRandom(seedOf(name));
  const looks = arms.flatMap((arm) =>
    scorers.flatMap((scorer) => {
      const deltas = deltasOf(rows, arm, scorer);
      return deltas.length === 0 ? [] : [{ arm, scorer, difference: differenceOf(deltas, random) }];
    }),
  );
  const adjusted = holm(looks.map(({ difference }) => difference.p));
  const findings = looks.map(({ arm, scorer, difference }, index) => ({
    arm,
    finding: toFinding(scorer, difference, adjusted[index] ?? 1),
  }));
  const summaries = arms.map((arm): [string, ArmSummary] => {
    const pairs: readonly Pair[] = rows.flatMap((row) => row.arms[arm] ?? []);
    return [
      arm,
      {
        verdicts: countOf(pairs.map(({ verdict }) => verdict)),
        findings: findings.flatMap((one) => (one.arm === arm ? [one.finding] : [])),
        spent: pairs.reduce<Amounts>((sum, { spent }) => addAmounts(sum, spent), {}),
      },
    ];
  });
  return {
    name,
    runId,
    items: rows.length,
    repeats,
    baseline: countOf(rows.map(({ baseline }) => baseline.verdict)),
    otherCode: rows.filter(({ code }) => code === 'other').length,
    arms: Object.fromEntries(summaries),
    rows,
  };
}

function toFinding(scorer: string, difference: Difference, adjusted: number): ArmFinding {
  const isSure = adjusted < alpha && (difference.low > 0 || difference.high < 0);
  const conclusion = !isSure ? 'too few to tell' : difference.mean > 0 ? 'improved' : 'regressed';
  return { scorer, ...difference, adjusted, conclusion };
}

const countsText = (counts: Readonly<Partial<Record<Verdict, number>>>): string =>
  verdicts.flatMap((verdict) => (counts[verdict] === undefined ? [] : [`${counts[verdict]} ${verdict}`])).join(', ');

/** The table as text, and of each arm the first pair that is not equal. */
export function tableText({ name, items, repeats, baseline, otherCode, arms, rows }: ExperimentResult): string {
  const of = repeats === 1 ? `${items} items` : `${items} items, ${repeats} times each`;
  const lines = [
    `${name}: ${of}`,
    `  baseline: ${countsText(baseline)}${otherCode === 0 ? '' : `; ${otherCode} of other code`}`,
  ];
  for (const [arm, { verdicts, findings }] of Object.entries(arms)) {
    lines.push(`  ${arm}: ${countsText(verdicts)}`);
    for (const { scorer, mean, low, high, better, worse, conclusion } of findings) {
      if (better + worse === 0) continue;
      const round = (value: number): string => value.toFixed(3);
      lines.push(`    ${scorer}: ${round(mean)} (${round(low)} to ${round(high)}), ${conclusion}`);
    }
    const first = rows.find((row) => row.arms[arm]?.some(({ verdict }) => verdict !== 'equal'));
    const pair = first?.arms[arm]?.find(({ verdict }) => verdict !== 'equal');
    if (first !== undefined && pair !== undefined)
      lines.push(`    e.g. ${first.item}: ${[pair.verdict, ...(pair.because ?? [])].join(': ')}`);
  }
  return lines.join('\n');
}
