/** Compares all items of an experiment, some at once, and records each: the work of the experiment's node. */
import { addAmounts, amountOf, type Amounts } from '../graph/amounts.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { compareItem, notRun, type Comparing } from './compare-item.ts';
import type { Pair, Row } from './judge-item.ts';
import { meanOf } from './statistics.ts';
import { summarise, type ExperimentResult } from './table.ts';

/** How much is done at once, and in all. */
interface Pace {
  readonly budget?: Amounts;
  readonly concurrency?: number;
}

/** Compares the items, some at once, and records each. */
export async function compareAll(ctx: NodeContext, comparing: Comparing, options: Pace): Promise<ExperimentResult> {
  const { budget, concurrency = 8 } = options;
  const { items } = ctx.input as { readonly items: readonly string[] };
  const rows = new Map<string, Row>();
  let spent: Amounts = {};
  const queue = [...items];
  const isOver = (): boolean => Object.entries(budget ?? {}).some(([unit, most]) => amountOf(spent, unit) >= most);
  const next = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      const runId = item;
      const isUnpaid = isOver();
      const row = await ctx.step(`item ${runId}`, { effect: 'read', input: runId }, () =>
        isUnpaid ? notRun(comparing, runId, 'the budget is spent') : compareItem(comparing, runId),
      );
      const whole = await scoreByModels(ctx, comparing, row);
      for (const pairs of [...Object.values(row.arms), row.control ?? []])
        for (const pair of pairs) spent = addAmounts(spent, pair.spent);
      rows.set(runId, whole);
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, next));
  const { experiment: name, repeats, arms, scorers } = comparing;
  const ordered = items.flatMap((item) => rows.get(item) ?? []);
  const about = { name, runId: ctx.runId, repeats };
  return summarise(
    about,
    ordered,
    arms.map((arm) => arm.name),
    scorers.map((scorer) => scorer.name),
  );
}

/**
 * Helps the process that has the experiment: runs items from the last on, each fork of which is made once, until the experiment is done. What
 * goes wrong here goes wrong there too, and is told by it.
 */
export async function helpWith(
  comparing: Comparing,
  items: readonly string[],
  done: Promise<unknown>,
  concurrency = 8,
): Promise<void> {
  const queue = [...items];
  const stop = (): void => void queue.splice(0);
  done.then(stop, stop);
  const next = async (): Promise<void> => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop())
      await compareItem(comparing, item).catch(() => undefined);
  };
  await Promise.race([done.catch(() => undefined), Promise.all(Array.from({ length: concurrency }, next))]);
}

/** Whether a pair's outputs were compared. */
export const isCompared = ({ verdict }: Pair): boolean =>
  ['equal', 'different', 'improved', 'regressed'].includes(verdict);

/** Adds what models say. Each output is rated once, in a step of its own. */
async function scoreByModels(ctx: NodeContext, comparing: Comparing, row: Row): Promise<Row> {
  const { engine, scorers, output } = comparing;
  let scored = row;
  for (const [rank, { name, asksModel, score }] of scorers.entries()) {
    if (asksModel !== true) continue;
    const rate = (fork: string): Promise<number> =>
      ctx.step(
        `${name} ${fork}`,
        { effect: 'external', idempotent: true, isModelCall: true, input: fork, about: `${name} of ${fork}` },
        async () => Number(await score?.(undefined, output((await engine.inspect(fork)).state), ctx.models)),
      );
    const controls = (row.control ?? []).filter(isCompared).map(({ fork }) => fork);
    if (!Object.values(row.arms).some((pairs) => pairs.some(isCompared))) continue;
    const before = meanOf(await Promise.all((controls.length > 0 ? controls : [row.baseline.fork]).map(rate)));
    const rated: Record<string, readonly Pair[]> = {};
    for (const [arm, pairs] of Object.entries(scored.arms))
      rated[arm] = await Promise.all(
        pairs.map(async (pair) =>
          isCompared(pair) ? withDelta(pair, name, (await rate(pair.fork)) - before, rank === 0) : pair,
        ),
      );
    scored = Object.assign({}, scored, { arms: rated });
  }
  return scored;
}

/** A pair with what a scorer gave it. @param decides - whether the verdict is the scorer's */
export function withDelta(pair: Pair, scorer: string, delta: number, decides: boolean): Pair {
  const { verdict: before } = pair;
  const judged = delta > 0 ? 'improved' : delta < 0 ? 'regressed' : 'different';
  return {
    ...pair,
    verdict: decides && before !== 'equal' ? judged : before,
    deltas: { ...pair.deltas, [scorer]: delta },
  };
}
