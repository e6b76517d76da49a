/** Prompts and questions of a pipeline. In prompts `$NAME` is an input; in questions it is text. */
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
      ['prompt', own.map((piece, index) => this.#piece(piece, own[index + 1], { id, place })).join('')],
      ['fidelity', isTold ? undefined : 'truncate'],
    ];
  }

  #piece(piece: Piece, next: Piece | undefined, { id, place }: Named): string {
    const noteConfusion = (what: string): void =>
      this.#notes.lost('TEXT', place, `in the prompt of ${id} ${what}`, 'word it otherwise');
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

  /** A question, in which the names of values stand for them. */
  asked({ id, place }: Named, text: Text): string {
    const parts = text.map((piece) => {
      if (typeof piece === 'string') return piece;
      const name = 'input' in piece ? piece.input : `the answer of ${piece.answerOf}`;
      this.#notes.lost('VALUE', place, `the question of ${id} says <${name}> in place of the value`, 'ask without it');
      return `<${name}>`;
    });
    return parts.join('');
  }
}
