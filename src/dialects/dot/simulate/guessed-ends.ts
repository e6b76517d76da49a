/** Guesses how a stage must end for one of its edges to be taken, or for it to fail. Looks at that edge alone. */
import { parseCondition } from '../model/condition.ts';
import { normalLabel, sayingOf } from '../model/labels.ts';
import type { PipelineEdge, Stage } from '../model/pipeline.ts';
import { isReserved } from '../run/context/context-keys.ts';
import type { StageOutcome, StageStatus } from '../run/stage/stage-outcome.ts';
import type { ScriptedEnd } from './scenario.ts';

export const success: ScriptedEnd = { outcome: { status: 'success' } };

export function failureOf(id: string): ScriptedEnd {
  return { outcome: { status: 'fail', failureReason: `${id} fails` } };
}

/** How a question fails: it is not confirmed, or nobody answers in time. */
export function refusalOf({ attributes }: Stage): ScriptedEnd {
  return { answer: attributes.text('human.type') === 'confirmation' ? 'No' : null };
}

/** The answer for which the edge is taken. Looks at the edge alone, so the result is a guess. */
export function answerFor(stage: Stage, edge: PipelineEdge, edges: readonly PipelineEdge[]): ScriptedEnd {
  const label = edge.attributes.text('label');
  const asksForFailure = parseCondition(edge.attributes.text('condition')).clauses?.some(
    ({ key, operator, value }) => key === 'outcome' && (operator === '=') === (value === 'fail'),
  );
  if (asksForFailure === true) return refusalOf(stage);
  if (!['yes_no', 'confirmation'].includes(stage.attributes.text('human.type')))
    return { answer: label === '' ? edge.to : sayingOf(label) };
  // An edge that says neither is taken for the word that no other says.
  const said = new Set(edges.map((one) => normalLabel(one.attributes.text('label'))));
  if (['yes', 'no'].includes(normalLabel(label))) return { answer: normalLabel(label) };
  return { answer: said.has('yes') ? 'no' : 'yes' };
}

/** How the stage must end for the edge to be taken. Looks at one clause after the other, so the result is a guess. */
export function outcomeFor({ to, attributes }: PipelineEdge): StageOutcome {
  const label = attributes.text('label');
  let status: StageStatus = 'success';
  let preferred = label;
  const updates: Record<string, unknown> = {};
  for (const { key, operator, value } of parseCondition(attributes.text('condition')).clauses ?? []) {
    const isEqual = operator === '=';
    if (key === 'outcome') status = isEqual ? (value as StageStatus) : value === 'success' ? 'fail' : 'success';
    else if (key === 'preferred_label') preferred = isEqual ? value : normalLabel(value) === '' ? 'any' : '';
    else {
      const name = key.replace(/^context\./, '');
      if (!isReserved(name)) updates[name] = isEqual ? value : operator === 'set' ? 'yes' : `not ${value}`;
    }
  }
  return {
    status,
    suggestedNextIds: [to],
    ...(preferred !== '' && { preferredLabel: preferred }),
    ...(Object.keys(updates).length > 0 && { contextUpdates: updates }),
    ...(status === 'fail' && { failureReason: `it fails, to go to ${to}` }),
  };
}
