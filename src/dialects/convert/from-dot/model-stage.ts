/** Stages that call a model. */
import { modelNameOf } from '../../dot/run/handlers/codergen.ts';
import type { Stage } from '../../dot/model/pipeline.ts';
import { chose } from '../outline/outline.ts';
import { plainEnds } from './stage-ends.ts';
import { promptOf } from './stage-prompt.ts';
import type { Done, StageReading } from './stage-reading.ts';

export function modelWork(stage: Stage, reading: StageReading): Done {
  const { ways, notes, placeOf } = reading;
  const { attributes } = stage;
  const edges = ways.edgesOf(stage.id);
  const mustReport = attributes.flag('goal_gate') || edges.length > 1 || edges.some((edge) => edge.takesFailures);
  const labels = [...new Set(edges.map(({ caption }) => caption).filter((caption) => caption !== ''))];
  if (attributes.text('reasoning_effort') !== '')
    notes.lost(
      'SETTING',
      placeOf(stage.attributes.placeOf('reasoning_effort')),
      `the reasoning effort of ${stage.id} is not told`,
      'set it in the profile of the model',
    );
  if (mustReport)
    notes.changed(
      'PROMPT',
      placeOf(stage.at),
      `${stage.id} is asked for its verdict by a schema, not by words in the prompt`,
      'nothing, or word it in the prompt',
    );
  const ends = [
    ...plainEnds(stage, reading),
    ...(mustReport ? labels : []).map((label) => ({
      on: chose(label),
      to: ways.leave(stage, { outcome: 'success', label }),
    })),
  ];
  return {
    work: {
      kind: 'model',
      prompt: promptOf(stage, reading),
      model: modelNameOf(stage),
      ...(mustReport && { verdict: labels }),
    },
    ends,
    timeoutMs: attributes.durationMs('timeout'),
    isIdempotent: true,
  };
}
