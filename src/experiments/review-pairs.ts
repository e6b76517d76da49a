/** Asks people which output is better, pair by pair, without saying which one is changed. */
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { isCompared, withDelta } from './compare-all.ts';
import type { Comparing } from './compare-item.ts';
import type { Pair, Row } from './judge-item.ts';
import { seedOf } from './statistics.ts';
import { summarise, type ExperimentResult } from './table.ts';

const choices = ['the first', 'the second', 'no difference'] as const;

/** The result with what people say: the node waits until each question is answered. */
export async function reviewAll(ctx: NodeContext, comparing: Comparing): Promise<ExperimentResult> {
  const compared = ctx.state.outputs['compare'] as ExperimentResult;
  const reviewed = compared.rows.map((row) => reviewRow(ctx, comparing, row));
  const { arms, scorers } = comparing;
  const names = [arms.map(({ name }) => name), scorers.map(({ name }) => name)] as const;
  return summarise(compared, await Promise.all(reviewed), ...names);
}

async function reviewRow(ctx: NodeContext, comparing: Comparing, row: Row): Promise<Row> {
  const review = async (pair: Pair): Promise<Pair> => {
    if (!isCompared(pair) || pair.verdict === 'equal') return pair;
    let scored = pair;
    for (const [rank, { name, question }] of comparing.scorers.entries())
      if (question !== undefined)
        scored = withDelta(scored, name, await ask(ctx, comparing, { question, row, pair }), rank === 0);
    return scored;
  };
  const arms = await Promise.all(
    Object.entries(row.arms).map(async ([arm, pairs]) => [arm, await Promise.all(pairs.map(review))] as const),
  );
  return { ...row, arms: Object.fromEntries(arms) };
}

/** @returns 1 if the changed output is better, -1 if it is worse */
async function ask(
  ctx: NodeContext,
  { engine, output }: Comparing,
  { question, row, pair }: { readonly question: string; readonly row: Row; readonly pair: Pair },
): Promise<number> {
  const outputOf = async (fork: string): Promise<string> =>
    JSON.stringify(output((await engine.inspect(fork)).state), null, 2);
  const both = await Promise.all([row.baseline.fork, pair.fork].map(outputOf));
  const isSwapped = seedOf(pair.fork) % 2 === 1;
  const [first, second] = isSwapped ? both.toReversed() : both;
  const prompt = `${question}\n\nThe first:\n${first}\n\nThe second:\n${second}`;
  const answer = await ctx.ask({ name: `review ${seedOf(pair.fork)}`, prompt, choices: [...choices] });
  if (answer === 'no difference') return 0;
  return (answer === 'the second') === isSwapped ? -1 : 1;
}
