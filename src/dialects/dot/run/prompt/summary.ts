/** Describes the run so far for a prompt: by rule, or as a summary by the model that the pipeline names. */
import { summaryTextOf } from '../../../../graph/contracts/whole-answer.ts';
import { preambleOf } from './preamble.ts';
import { modelStep, type StageContext, type Telling } from '../stage/stage-parts.ts';

/** Length of a summary in tokens. */
const tokens: Readonly<Record<string, number>> = {
  'summary:low': 600,
  'summary:medium': 1_500,
  'summary:high': 3_000,
};

/** A summary by a model is a recorded step: it is paid for once, and is the same after a crash. */
export async function summaryOf(stage: StageContext, { fidelity, summaryModel }: Telling): Promise<string> {
  const count = tokens[fidelity];
  if (summaryModel === undefined || count === undefined) return preambleOf(stage.ctx.state, fidelity);
  const told = preambleOf(stage.ctx.state, 'whole');
  if (told === '') return '';
  const { ctx, parts } = stage;
  const content = `${told}\n\nSum up the above for whoever does the next stage of this work, in at most ${count} tokens. Keep names, numbers, decisions, and what failed and why. Answer with the summary alone.`;
  return ctx.step('summary', modelStep(parts), async ({ idempotencyKey, signal }) => {
    const call = { model: summaryModel, messages: [{ role: 'user', content } as const], tokensMax: count };
    const response = await ctx.models.generate(call, { idempotencyKey, signal });
    return `The run so far:\n${summaryTextOf(response)}`;
  });
}
