/** Stages that ask a person. */
import type { Pipeline, Stage } from '../../dot/model/pipeline.ts';
import { normalLabel, sayingOf } from '../../dot/model/edge-label.ts';
import { type Piece, type Text, chose } from '../outline/outline.ts';
import { writePrompt } from '../outline/earlier-answers.ts';
import type { StageReading, Done } from './stage-reading.ts';
import type { Way } from '../../dot/run/stage/choose-edge.ts';
import type { Ending } from './pipeline-ways.ts';

// Prompts of a pipeline.

/** The prompt; before it the goal, if its fidelity includes it. */
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
function piecesOf(text: string, { params }: Pick<Pipeline, 'params'>): Text {
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

type QuestionWork = Pick<Done, 'work' | 'ends'>;

export function humanWork(stage: Stage, reading: StageReading): Done {
  const { attributes } = stage;
  const form = attributes.text('human.type') || 'multiple_choice';
  if (attributes.has('timeout'))
    lost(
      stage,
      reading,
      'ANSWER',
      `${stage.id} waits for an answer without a limit, and takes no default`,
      'answer it by a program when it is late',
    );
  if (attributes.has('remind_after') || attributes.has('escalate_to'))
    lost(
      stage,
      reading,
      'ANSWER',
      `${stage.id} is not reminded of, nor given to others`,
      'give the block remind_after and escalate_to',
    );
  if (attributes.has('assignees') || attributes.has('four_eyes'))
    lost(stage, reading, 'ANSWER', `${stage.id} takes everybody’s answer`, 'give the block assignees and four_eyes');
  const otherwise = form === 'freeform' ? 'What do you say?' : 'Select an option:';
  const question = piecesOf(attributes.text('label') || otherwise, reading.pipeline);
  return { timeoutMs: undefined, isIdempotent: false, ...workOfForm(form)(stage, question, reading) };
}

function workOfForm(form: string): (stage: Stage, question: Text, reading: StageReading) => QuestionWork {
  if (form === 'yes_no' || form === 'confirmation') return confirmation;
  return form === 'freeform' ? freeText : choice;
}

/** A yes or no. To refuse a confirmation is to fail. */
function confirmation(stage: Stage, question: Text, { ways }: StageReading): QuestionWork {
  const isFailed = stage.attributes.text('human.type') === 'confirmation';
  const no: Ending = { outcome: isFailed ? 'fail' : 'success', label: 'No' };
  return {
    work: { kind: 'confirm', question },
    ends: [
      { on: 'yes', to: ways.leave(stage, { outcome: 'success', label: 'Yes' }) },
      { on: 'no', to: ways.leave(stage, no) },
    ],
  };
}

function freeText(stage: Stage, question: Text, reading: StageReading): QuestionWork {
  const edges = edgesOf(stage, reading);
  if (edges.some(({ caption }) => caption !== ''))
    lost(
      stage,
      reading,
      'ANSWER',
      `${stage.id} takes any text, and none of them chooses an edge`,
      'ask for a choice first',
    );
  const suggested = edges.filter(({ caption }) => caption === '').map(({ to }) => to);
  const to = reading.ways.leave(stage, { outcome: 'success', suggested });
  return { work: { kind: 'text', question }, ends: [{ on: 'success', to }] };
}

/** A choice for each label. Edges that say the same are one. */
function choice(stage: Stage, question: Text, reading: StageReading): QuestionWork {
  const offered = new Map<string, { readonly label: string; readonly to: string }>();
  for (const { caption, to } of edgesOf(stage, reading)) {
    const label = caption === '' ? to : caption;
    if (!offered.has(normalLabel(label))) offered.set(normalLabel(label), { label, to });
  }
  const all = [...offered.values()];
  if (all.some(({ label }) => sayingOf(label) !== label))
    reading.notes.changed(
      'ANSWER',
      reading.placeOf(stage.at),
      `the choices of ${stage.id} have no keys: they are answered by what they say, or by number`,
      'nothing',
    );
  return {
    work: { kind: 'choice', question, choices: all.map(({ label }) => sayingOf(label)) },
    ends: all.map(({ label, to }) => ({
      on: chose(sayingOf(label)),
      to: reading.ways.leave(stage, { outcome: 'success', label, suggested: [to] }, true),
    })),
  };
}

function edgesOf(stage: Stage, reading: StageReading): readonly Way[] {
  const edges = reading.ways.edgesOf(stage.id);
  if (edges.some(({ clauses }) => clauses.length > 0))
    lost(
      stage,
      reading,
      'CONDITION',
      `${stage.id} offers all its edges, whatever their conditions`,
      'ask at blocks of their own, each with a condition',
    );
  return edges;
}

function lost(
  stage: Stage,
  { notes, placeOf }: StageReading,
  code: 'ANSWER' | 'CONDITION',
  message: string,
  fix: string,
): void {
  notes.lost(code, placeOf(stage.at), message, fix);
}
