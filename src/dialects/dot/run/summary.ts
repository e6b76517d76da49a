/** What a prompt is told of the run so far: by rule, or where the pipeline names a model for it, as that model sums it up. */
import { textOf } from '../../../graph/contracts/model-contract.ts';
import { preambleOf } from './preamble.ts';
import type { StageContext, Telling } from './stage-parts.ts';

/** Tokens of a summary. */
const tokens: Readonly<Record<string, number>> = {
  'summary:low': 600,
  'summary:medium': 1_500,
  'summary:high': 3_000,
};

/** A summary that a model makes is a step: bought once, and the same after a crash. */
export async function summaryOf(stage: StageContext, { fidelity, summaryModel }: Telling): Promise<string> {
  const count = tokens[fidelity];
  if (summaryModel === undefined || count === undefined) return preambleOf(stage.ctx.state, fidelity);
  const told = preambleOf(stage.ctx.state, 'whole');
  if (told === '') return '';
  const { ctx, parts } = stage;
  const { retry, timeoutMs } = parts;
  const content = `${told}\n\nSum up the above for whoever does the next stage of this work, in at most ${count} tokens. Keep names, numbers, decisions, and what failed and why. Answer with the summary alone.`;
  const options = {
    effect: 'external',
    idempotent: true,
    retry,
    ...(timeoutMs !== undefined && { timeoutMs }),
  } as const;
  return ctx.step('summary', options, async ({ idempotencyKey, signal }) => {
    const call = { model: summaryModel, messages: [{ role: 'user', content } as const], tokensMax: count };
    const response = await ctx.models.generate(call, { idempotencyKey, signal });
    return `The run so far:\n${textOf(response.content).trim()}`;
  });
}
