/** Prompts and questions of a pipeline: `$NAME` in them is an input. */
import type { Notes } from '../outline/notes.ts';
import type { OutlineInput, Piece, Step, Text } from '../outline/outline.ts';
import { readPrompt } from '../outline/told-answer.ts';
import type { Pairs } from './dot-pairs.ts';

type Named = Pick<Step, 'id' | 'place'>;

export class DotPrompts {
  readonly #names: ReadonlySet<string>;
  readonly #hasGoal: boolean;
  readonly #notes: Notes;

  constructor(inputs: readonly OutlineInput[], notes: Notes) {
    this.#names = new Set(['goal', ...inputs.map(({ name }) => name)]);
    this.#hasGoal = inputs.some(({ name }) => name === 'goal');
    this.#notes = notes;
  }

  /**
   * A prompt, and how much of the run is told before it: the goal alone, unless the text holds an earlier answer, or tells of one before
   * itself. Then a run tells all that it tells by default.
   */
  told({ id, place }: Named, text: Text): Pairs {
    const { hasGoal, answerOf, own } = readPrompt(text);
    const isSpokenOf = own.some((piece) => typeof piece === 'object' && 'answerOf' in piece);
    const isTold = answerOf !== undefined || isSpokenOf;
    if (isSpokenOf)
      this.#notes.lost(
        'VALUE',
        place,
        `the prompt of ${id} does not hold earlier answers; the run so far is told before it`,
        'nothing, or set fidelity',
      );
    if (this.#hasGoal && !hasGoal)
      this.#notes.lost(
        'PROMPT',
        place,
        `the goal stands before the prompt of ${id}`,
        'give the input goal another name',
      );
    return [
      ['prompt', this.#pieces(own, `the prompt of ${id}`, place)],
      ['fidelity', isTold ? undefined : 'truncate'],
    ];
  }

  /** A question, in which an earlier answer is named. */
  asked({ id, place }: Named, text: Text): string {
    const what = `the question of ${id}`;
    for (const piece of text)
      if (typeof piece === 'object' && 'answerOf' in piece)
        this.#notes.lost('VALUE', place, `${what} says whose answer it means, and not the answer`, 'ask without it');
    return this.#pieces(text, what, place);
  }

  #pieces(text: Text, what: string, place: string): string {
    const noteConfusion = (how: string): void =>
      this.#notes.lost('TEXT', place, `in ${what} ${how}`, 'word it otherwise');
    return text.map((piece, index) => this.#piece(piece, text[index + 1], noteConfusion)).join('');
  }

  #piece(piece: Piece, next: Piece | undefined, noteConfusion: (how: string) => void): string {
    if (typeof piece === 'string') {
      for (const [word, name = ''] of piece.matchAll(/\$([A-Za-z_][A-Za-z0-9_]*)/g))
        if (this.#names.has(name)) noteConfusion(`${word} is the input, and not text`);
      return piece;
    }
    if ('answerOf' in piece) return `(the answer of ${piece.answerOf})`;
    if (typeof next === 'string' && /^[A-Za-z0-9_]/.test(next))
      noteConfusion(`$${piece.input} runs into the word behind it`);
    return `$${piece.input}`;
  }
}
