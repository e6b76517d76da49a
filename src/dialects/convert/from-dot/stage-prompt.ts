/** Prompts of a pipeline. */
import type { Pipeline, Stage } from '../../dot/model/pipeline.ts';
import type { Piece, Text } from '../outline/outline.ts';
import { writePrompt } from '../outline/told-answer.ts';
import type { StageReading } from './stage-reading.ts';

/** The prompt; before it the goal, as far as the run is told it. */
export function promptOf(stage: Stage, { pipeline, notes, placeOf, fidelityOf }: StageReading): Text {
  const own = stage.attributes.text('prompt') || stage.attributes.text('label') || stage.id;
  const fidelity = fidelityOf(stage);
  if (fidelity !== 'truncate')
    notes.lost(
      'PROMPT',
      placeOf(stage.at),
      `${stage.id} is told the goal, and at most the answer before it, but not ${fidelity === 'full' ? 'the conversation' : 'what else the run did'} (${fidelity})`,
      'name what it needs in its prompt: ${blocks.ID.response.content}, ${blocks.ID.stdout}',
    );
  const hasGoal = pipeline.attributes.text('goal') !== '';
  return writePrompt({ hasGoal, answerOf: undefined, own: piecesOf(own, pipeline) });
}

/** A prompt or a question, in which `$NAME` of inputs are whole words. */
export function piecesOf(text: string, { params }: Pick<Pipeline, 'params'>): Text {
  const names = new Set(['goal', ...params.map(({ name }) => name)]);
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(/\$([A-Za-z_][A-Za-z0-9_]*)/g)) {
    const [word, name = ''] = match;
    if (!names.has(name)) continue;
    found.push(text.slice(from, match.index), { input: name });
    from = match.index + word.length;
  }
  return [...found, text.slice(from)];
}
