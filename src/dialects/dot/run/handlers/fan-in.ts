/** A stage that joins branches: it picks the best of their results by rank, or asks a model to pick. */
import { expand } from '../context/context-keys.ts';
import { askModel, codergenHandler } from './codergen.ts';
import type { BranchResult } from './parallel.ts';
import type { StageContext, StageHandler } from '../stage/stage-parts.ts';
import type { StageOutcome } from '../stage/stage-outcome.ts';

const ranks: readonly string[] = ['success', 'partial_success', 'retry', 'skipped', 'fail'];

export const fanInHandler: StageHandler = {
  effect: 'external',
  isIdempotent: () => true,
  needs: (stage) => (stage.attributes.text('prompt') === '' ? [] : (codergenHandler.needs?.(stage, '') ?? [])),
  run: bringTogether,
};

async function bringTogether(stage: StageContext): Promise<StageOutcome> {
  const results = stage.value('parallel.results') as readonly BranchResult[] | undefined;
  if (results === undefined || results.length === 0)
    return { status: 'fail', failureReason: 'there are no results of branches' };
  const candidates = results.filter(({ outcome }) => outcome !== 'fail' && outcome !== 'skipped');
  const [first] = candidates;
  if (first === undefined)
    return {
      status: 'fail',
      failureReason: `all branches failed: ${results.map(({ id, failure_reason: reason }) => `${id}: ${reason ?? 'no reason'}`).join('; ')}`,
    };
  const ranked: readonly BranchResult[] = candidates.toSorted(
    (a, b) => rankOf(a) - rankOf(b) || scoreOf(b) - scoreOf(a) || (a.id < b.id ? -1 : 1),
  );
  const asked = stage.attributes.text('prompt') === '' ? undefined : await askForBest(stage, results, ranked);
  const best = asked?.best ?? ranked[0] ?? first;
  return {
    status: 'success',
    ...(asked !== undefined && { response: asked.answer }),
    contextUpdates: {
      'parallel.fan_in.best_id': best.id,
      'parallel.fan_in.best_outcome': best.outcome,
      ...('last_response' in best.context && { last_response: best.context['last_response'] }),
    },
  };
}

function rankOf({ outcome }: BranchResult): number {
  return ranks.indexOf(outcome);
}

function scoreOf({ context }: BranchResult): number {
  return Number(context['score'] ?? 0) || 0;
}

/** Asks the model. The best is the candidate that the answer names last. If it names none, the ranks decide. */
async function askForBest(
  stage: StageContext,
  results: readonly BranchResult[],
  candidates: readonly BranchResult[],
): Promise<{ readonly answer: string; readonly best: BranchResult | undefined }> {
  const { ctx, parts, attributes } = stage;
  const prompt = [
    `Results of the branches:\n${JSON.stringify(results, undefined, 2)}`,
    expand(attributes.text('prompt'), ctx.state, parts.params),
    `End your answer with the id of the best branch, one of ${candidates.map(({ id }) => id).join(', ')}.`,
  ].join('\n\n');
  const answer = await askModel(stage, prompt);
  const words = answer.split(/[^A-Za-z0-9_]+/).toReversed();
  const named = words.find((word) => candidates.some(({ id }) => id === word));
  return { answer, best: candidates.find(({ id }) => id === named) };
}
