/** Finds scenarios that take edges which earlier ones did not: each changes the end of one stage in an earlier run. */
import { parseCondition } from '../model/condition.ts';
import { normalLabel, sayingOf } from '../model/labels.ts';
import { retryTargets, type Layout } from '../model/layout.ts';
import type { Pipeline, PipelineEdge, Stage } from '../model/pipeline.ts';
import type { StageOutcome, StageStatus } from '../run/stage/stage-outcome.ts';
import type { StageEnding } from '../run/stage/stage-parts.ts';
import type { Scenario, ScriptedEnd } from './scenario.ts';
import { isScripted } from './scripted-stages.ts';

/** A scenario to try once, and its aim. */
export interface Idea {
  readonly aim: string;
  readonly scenario: Scenario;
}

/** Scenarios that a run suggests: for each stage it reached, each edge that it did not take, and a failure. */
export function ideasFrom(
  pipeline: Pipeline,
  { outgoing }: Layout,
  { stages: told }: Scenario,
  endings: readonly StageEnding[],
): readonly Idea[] {
  const ideas: Idea[] = [];
  const visits = new Map<string, number>();
  for (const { stage: id, edge: taken } of endings) {
    const visit = visits.get(id) ?? 0;
    visits.set(id, visit + 1);
    const stage = pipeline.stages.get(id);
    if (stage === undefined || (!isScripted(stage.type) && stage.type !== 'conditional')) continue;
    // A conditional stage passes on the outcome of the stage before it, so that stage is changed instead.
    const actor = stage.type === 'conditional' ? actorBefore(pipeline, endings, id) : id;
    if (actor === undefined) continue;
    const before = (told[actor] ?? []).slice(0, visit);
    // Later visits of the stage succeed, or get another answer, so that the run can end.
    const add = (aim: string, end: ScriptedEnd, after: readonly ScriptedEnd[] = [success]): void => {
      const lead = [...before, ...Array.from({ length: visit - before.length }, () => success)];
      ideas.push({ aim, scenario: { name: aim, stages: { ...told, [actor]: [...lead, end, ...after] } } });
    };
    const edges = outgoing.get(id) ?? [];
    const isAsking = stage.type === 'wait.human';
    const end = (edge: PipelineEdge): ScriptedEnd => (isAsking ? answerFor(stage, edge, edges) : endFor(edge));
    for (const edge of edges) {
      if (edge.index === taken) continue;
      const others = isAsking ? edges.filter((other) => other !== edge).map(end) : [];
      add(`${edge.from} -> ${edge.to}${captionOf(edge)}`, end(edge), isAsking ? others : [success]);
    }
    if (retryTargets(stage).length > 0 || stage.attributes.flag('goal_gate'))
      add(`${id} fails`, isAsking ? refusalOf(stage) : failureOf(id), isAsking ? edges.map(end) : [success]);
  }
  return ideas;
}

const success: ScriptedEnd = { outcome: { status: 'success' } };

function captionOf({ attributes }: PipelineEdge): string {
  const text = attributes.text('condition') || attributes.text('label');
  return text === '' ? '' : ` [${text}]`;
}

function actorBefore({ stages }: Pipeline, endings: readonly StageEnding[], diamond: string): string | undefined {
  const index = endings.findIndex(({ stage }) => stage === diamond);
  const before = endings.slice(0, index).findLast(({ stage }) => stages.get(stage)?.type !== 'conditional');
  return before !== undefined && isScripted(stages.get(before.stage)?.type ?? 'start') ? before.stage : undefined;
}

function failureOf(id: string): ScriptedEnd {
  return { outcome: { status: 'fail', failureReason: `${id} fails` } };
}

/** How a question fails: it is not confirmed, or nobody answers in time. */
function refusalOf({ attributes }: Stage): ScriptedEnd {
  return { answer: attributes.text('human.type') === 'confirmation' ? 'No' : null };
}

/** The answer for which the edge is taken. Looks at the edge alone, so the result is a guess. */
function answerFor(stage: Stage, edge: PipelineEdge, edges: readonly PipelineEdge[]): ScriptedEnd {
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
function endFor({ to, attributes }: PipelineEdge): ScriptedEnd {
  const label = attributes.text('label');
  let status: StageStatus = 'success';
  let preferred = label;
  const updates: Record<string, unknown> = {};
  for (const { key, operator, value } of parseCondition(attributes.text('condition')).clauses ?? []) {
    const isEqual = operator === '=';
    if (key === 'outcome') status = isEqual ? (value as StageStatus) : value === 'success' ? 'fail' : 'success';
    else if (key === 'preferred_label') preferred = isEqual ? value : normalLabel(value) === '' ? 'any' : '';
    else updates[key.replace(/^context\./, '')] = isEqual ? value : operator === 'set' ? 'yes' : `not ${value}`;
  }
  const outcome: StageOutcome = {
    status,
    suggestedNextIds: [to],
    ...(preferred !== '' && { preferredLabel: preferred }),
    ...(Object.keys(updates).length > 0 && { contextUpdates: updates }),
    ...(status === 'fail' && { failureReason: `it fails, to go to ${to}` }),
  };
  return { outcome };
}
