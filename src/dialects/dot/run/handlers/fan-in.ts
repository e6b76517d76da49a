/** A stage that joins branches: it picks the best of their results by rank, or asks a model to pick. */
import { asText, expand } from '../context/context-reader.ts';
import { askModel, codergenHandler } from './agent.ts';
import { cut, tellBranches } from '../prompt/preamble.ts';
import { shortfallKey, type ShownResult, type StageOutcome } from '../stage/stage-outcome.ts';
import type { StageContext, StageHandler } from '../stage/attempts.ts';

/** Stands for all outcomes of an author's own. */
const ownRank = 'own';

const ranks: readonly string[] = ['success', 'partial_success', ownRank, 'retry', 'skipped', 'fail'];

export const fanInHandler: StageHandler = {
  effect: 'external',
  isModelCall: true,
  isIdempotent: () => true,
  needs: (stage) => (stage.attributes.text('prompt') === '' ? [] : (codergenHandler.needs?.(stage, '') ?? [])),
  run: bringTogether,
};

async function bringTogether(stage: StageContext): Promise<StageOutcome> {
  const results = (await stage.context.whole('parallel.results')) as readonly ShownResult[] | undefined;
  if (results === undefined || results.length === 0)
    return { status: 'fail', failureReason: 'there are no results of branches' };
  const candidates = results.filter(({ outcome }) => outcome !== 'fail' && outcome !== 'skipped');
  const [first] = candidates;
  if (first === undefined)
    return {
      status: 'fail',
      failureReason: `all branches failed: ${results.map(({ id, failure_reason: reason }) => `${id}: ${reason ?? 'no reason'}`).join('; ')}`,
    };
  const ranked: readonly ShownResult[] = candidates.toSorted(
    (a, b) => rankOf(a) - rankOf(b) || scoreOf(b) - scoreOf(a) || (a.id < b.id ? -1 : 1),
  );
  const shortfall = asText(stage.value(shortfallKey));
  const isAsking = shortfall === '' && stage.attributes.text('prompt') !== '';
  const chosen = isAsking ? await askForBest(stage, results, ranked) : undefined;
  const best = chosen?.best ?? ranked[0] ?? first;
  const response = chosen?.answer ?? best.response;
  return {
    // Too few succeeded, or one failed where none may: that some succeeded does not make the whole a success.
    ...(shortfall === '' ? { status: 'success' } : { status: 'fail', failureReason: shortfall }),
    ...(response !== undefined && { response }),
    contextUpdates: {
      'parallel.fan_in.best_id': best.id,
      'parallel.fan_in.best_outcome': best.outcome,
      ...('last_response' in best.context && { last_response: best.context['last_response'] }),
    },
  };
}

/** Most characters of the branches' results that a model is sent. */
const resultsMax = 200_000;

function rankOf({ outcome }: ShownResult): number {
  return ranks.indexOf(ranks.includes(outcome) ? outcome : ownRank);
}

function scoreOf({ context }: ShownResult): number {
  return Number(context['score'] ?? 0) || 0;
}

/** Asks the model. The best is the candidate that the answer names last. If it names none, the ranks decide. */
async function askForBest(
  stage: StageContext,
  results: readonly ShownResult[],
  candidates: readonly ShownResult[],
): Promise<{ readonly answer: string; readonly best: ShownResult | undefined }> {
  const { ctx, parts, attributes } = stage;
  const prompt = [
    `Results of the branches:\n${cut(tellBranches(results, { value: 20_000, answer: 50_000 }), resultsMax)}`,
    expand(attributes.text('prompt'), ctx.state, parts.params),
    `End your answer with the id of the best branch, one of ${candidates.map(({ id }) => id).join(', ')}.`,
  ].join('\n\n');
  const answer = await askModel(stage, prompt);
  const words = answer.split(/[^A-Za-z0-9_]+/).toReversed();
  const named = words.find((word) => candidates.some(({ id }) => id === word));
  return { answer, best: candidates.find(({ id }) => id === named) };
}
