/** Prompts of a pipeline. */
import type { Stage } from '../../dot/model/pipeline.ts';
import type { Piece, Text } from '../outline/outline.ts';
import { writePrompt } from '../outline/told-answer.ts';
import type { StageReading } from './stage-reading.ts';

/** The prompt; before it the goal, as far as the run is told it. */
export function promptOf(stage: Stage, { pipeline, notes, placeOf, fidelityOf }: StageReading): Text {
  const own = stage.attributes.text('prompt') || stage.attributes.text('label') || stage.id;
  const names = new Set(['goal', ...pipeline.params.map(({ name }) => name)]);
  const fidelity = fidelityOf(stage);
  if (fidelity !== 'truncate')
    notes.lost(
      'PROMPT',
      placeOf(stage.at),
      `${stage.id} is told the goal, and at most the answer before it, but not ${fidelity === 'full' ? 'the conversation' : 'what else the run did'} (${fidelity})`,
      'name what it needs in its prompt: ${blocks.ID.response.content}, ${blocks.ID.stdout}',
    );
  const hasGoal = pipeline.attributes.text('goal') !== '';
  return writePrompt({ hasGoal, answerOf: undefined, own: pieces(own, names) });
}

/** The text with `$NAME` of inputs as whole words. */
function pieces(text: string, names: ReadonlySet<string>): Text {
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
