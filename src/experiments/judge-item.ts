/** Says of an item what became of it under each arm, by what the arms gave. */
import { isDeepStrictEqual } from 'node:util';
import type { Amounts } from '../graph/amounts.ts';
import { shown } from '../state/secrecy/shown-text.ts';
import { firstDifference } from './first-difference.ts';
import type { ArmEnd } from './run-arm.ts';
import type { Judged, Scorer } from './scorers.ts';

/** What became of an item under an arm. `not reproduced`: the baseline itself gave something else, so that the arm says nothing. */
export type Verdict = Judged | Exclude<ArmEnd['end'], 'completed'> | 'not reproduced';

/** All verdicts, in the order in which they are told. */
export const verdicts: readonly Verdict[] = [
  'equal',
  'improved',
  'regressed',
  'different',
  'would act',
  'would read',
  'would ask',
  'failed',
  'not reproduced',
  'not run',
];

/** One run of an arm on an item. */
export interface Pair {
  readonly fork: string;
  readonly verdict: Verdict;
  /** Why, where it did not come to its end; else where its output differs first from what it is compared with. */
  readonly because?: readonly string[];
  /** What each scorer gave the arm more than what it is compared with, by the scorer's name: numbers only. */
  readonly deltas?: Readonly<Record<string, number>>;
  readonly spent: Amounts;
}

/** An item, and what became of it. */
export interface Row {
  readonly item: string;
  /** Whether the run was recorded under the baseline's graph. If not, arms are compared with the baseline's fork. */
  readonly code: 'same' | 'other' | 'unknown';
  readonly baseline: Pick<Pair, 'fork' | 'verdict' | 'because'>;
  /** Forks of the baseline with fresh samples, where an arm asked models. */
  readonly control?: readonly Pair[];
  readonly arms: Readonly<Record<string, readonly Pair[]>>;
}

/** How one run of an arm ended, and what it gave if it is complete. */
export interface Ran {
  readonly end: ArmEnd;
  readonly output?: unknown;
}

/** Whether two values differ in nothing but the order of lists. Side by side work appends in whatever order it ends. */
function isEqualButForOrder(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(unordered(a), unordered(b));
}

function unordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => JSON.stringify(unordered(one)) ?? '').toSorted();
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, unordered(one)]));
}

interface Judging {
  readonly runId: string;
  readonly code: Row['code'];
  /** What the run gave, of an item that was recorded. */
  readonly recorded?: unknown;
  /** What it should give, of an item that runs anew. */
  readonly expected?: unknown;
  readonly base: Ran;
  readonly control: readonly Ran[] | undefined;
  readonly arms: readonly (readonly [string, readonly Ran[]])[];
}

/** What outputs are compared with, and how. */
interface Reference {
  readonly value: unknown;
  readonly isExpected: boolean;
  readonly isEqual: (a: unknown, b: unknown) => boolean;
  /** Whether the baseline says something: of a recorded run that it gives what was recorded. */
  readonly isReproduced: boolean;
  /** What the baseline's own score is of. */
  readonly before: readonly unknown[];
}

function referenceOf(judging: Judging): Reference {
  const { code, recorded, expected, base, control } = judging;
  const isComplete = base.end.end === 'completed';
  const before = control?.map(({ output }) => output);
  if (!Object.hasOwn(judging, 'recorded')) {
    const own = { value: expected, isExpected: true, isEqual: isDeepStrictEqual };
    return { ...own, isReproduced: isComplete, before: before ?? [base.output] };
  }
  const isReordered =
    isComplete && !isDeepStrictEqual(base.output, recorded) && isEqualButForOrder(base.output, recorded);
  const isEqual = isReordered ? isEqualButForOrder : isDeepStrictEqual;
  const isReproduced = isComplete && (code !== 'same' || isEqual(base.output, recorded));
  const value = code === 'same' ? recorded : base.output;
  return { value, isExpected: false, isEqual, isReproduced, before: before ?? [value] };
}

export async function judgeItem(scorers: readonly Scorer[], judging: Judging): Promise<Row> {
  const { runId, code, control, arms } = judging;
  const reference = referenceOf(judging);
  const { isReproduced } = reference;
  const ofBase = judgeBaseline(judging, reference);
  const becauseOfBase = ofBase.because === undefined ? {} : { because: ofBase.because };
  const own = scorers.filter(({ score, asksModel }) => score !== undefined && asksModel !== true);
  const pairOf = async ({ end, output }: Ran): Promise<Pair> => {
    const { fork, spent, because } = end;
    if (!isReproduced) return { fork, verdict: 'not reproduced', ...becauseOfBase, spent };
    if (end.end !== 'completed') return { fork, verdict: end.end, ...(because && { because }), spent };
    const scored = await scoreAll(own, reference, output);
    const differs = scored.verdict === 'equal' ? undefined : differenceOf(reference.value, output);
    return { fork, verdict: scored.verdict, ...(differs && { because: differs }), deltas: scored.deltas, spent };
  };
  const pairs = async (ran: readonly Ran[]): Promise<readonly Pair[]> => Promise.all(ran.map(pairOf));
  const armPairs: Record<string, readonly Pair[]> = {};
  for (const [name, ran] of arms) armPairs[name] = await pairs(ran);
  return {
    item: runId,
    code,
    baseline: ofBase,
    ...(control && { control: await pairs(control) }),
    arms: armPairs,
  };
}

function judgeBaseline({ code, base }: Judging, { isReproduced, isEqual, value }: Reference): Row['baseline'] {
  const { fork, end, because: why } = base.end;
  const isAsReference = code !== 'same' || isEqual(base.output, value);
  const verdict = isReproduced ? (isAsReference ? 'equal' : 'different') : end === 'completed' ? 'not reproduced' : end;
  const because = why ?? (end === 'completed' && !isAsReference ? differenceOf(value, base.output) : undefined);
  return { fork, verdict, ...(because && { because }) };
}

/** Characters of each of two values that a pair keeps. */
const valueLengthMax = 80;

/** Where an output differs first. Of values under names of secrets it is told that they differ, and not what they are. */
function differenceOf(before: unknown, now: unknown): readonly string[] | undefined {
  if (isDeepStrictEqual(before, now)) return undefined;
  return firstDifference(shown(before), shown(now), valueLengthMax) ?? ['values differ that are not shown'];
}

/** The verdict of the first scorer, and by how much each one's number is more than that of what it is compared with. */
async function scoreAll(
  scorers: readonly Scorer[],
  { value, isExpected, isEqual, before }: Reference,
  output: unknown,
): Promise<{ readonly verdict: Judged; readonly deltas: Readonly<Record<string, number>> }> {
  const deltas: Record<string, number> = {};
  const verdicts: Judged[] = [];
  for (const { name, score } of scorers) {
    const scored = await score?.(value, output);
    if (scored === undefined) continue;
    const earlier: (Judged | number)[] = [];
    for (const one of before) earlier.push((await score?.(value, one)) ?? 0);
    if (typeof scored === 'string') {
      const verdict = isExpected ? againstBaseline(scored, earlier) : scored;
      const worth = worthOf[verdict];
      verdicts.push(verdict);
      if (worth !== undefined) deltas[name] = worth;
      continue;
    }
    const delta = scored - earlier.reduce<number>((sum, one) => sum + Number(one), 0) / Math.max(1, earlier.length);
    deltas[name] = delta;
    verdicts.push(delta > 0 ? 'improved' : delta < 0 ? 'regressed' : 'different');
  }
  const verdict = verdicts[0] ?? 'different';
  const isSame = isEqual(output, value) && verdict !== 'improved';
  return { verdict: isSame ? 'equal' : verdict, deltas };
}

const worthOf: Readonly<Partial<Record<Judged, number>>> = { improved: 1, regressed: -1, equal: 0 };

/** Where something is expected, to come to it is better than the baseline, and to leave it is worse. */
function againstBaseline(scored: Judged, before: readonly (Judged | number)[]): Judged {
  const other = scored === 'equal' ? 'different' : 'equal';
  const isOther = before.every((one) => one === other);
  if (scored === 'equal') return isOther ? 'improved' : 'equal';
  return scored === 'different' && isOther ? 'regressed' : scored;
}
