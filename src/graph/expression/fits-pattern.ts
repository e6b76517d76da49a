/**
 * Matches a text against a regular expression from an untrusted author in bounded time. Some patterns take exponential time with
 * JavaScript's own engine.
 */
import { currentBudget, type Budget } from './expression-budget.ts';
import { programOf, type Instruction, type PatternProgram } from './pattern-program.ts';

/** JavaScript's own engine is used if the worst case needs at most this many tries, which takes a few milliseconds. */
const quickTries = 1e6;

/** How many tries of JavaScript's engine cost one step of the budget. */
const triesPerStep = 64;

/** Cache of the programs of recent patterns. */
const programs = new Map<string, PatternProgram | undefined>();
const maxPrograms = 100;
const stepsPerInstruction = 10;

function knownProgram(pattern: string, flags: string, budget: Budget): PatternProgram | undefined {
  const key = `${flags} ${pattern}`;
  if (!programs.has(key)) {
    if (programs.size >= maxPrograms) programs.clear();
    const program = programOf(pattern, flags);
    programs.set(key, program);
    budget.takeSteps(stepsPerInstruction * (program?.instructions.length ?? 1));
  }
  return programs.get(key);
}

/**
 * Whether the text contains a match of the pattern.
 * @param flags - of the regular expression: `u`, `i` or none
 * @throws Error the pattern is invalid, or could take too long on this text
 */
export function fitsPattern(text: string, pattern: string, flags: string): boolean {
  const budget = currentBudget();
  budget.takeText(pattern.length);
  const expression = new RegExp(pattern, flags);
  const tries = triesAtWorst(text, pattern);
  const isQuick = tries <= quickTries;
  const program = isQuick && !isMisread(text, pattern, flags) ? undefined : knownProgram(pattern, flags, budget);
  if (isQuick && program === undefined) {
    budget.takeSteps(Math.ceil(tries / triesPerStep));
    return expression.test(text);
  }
  if (program !== undefined) return new Walk(program, text, flags, budget).finds();
  throw new Error(
    `${pattern} could take too long on a text of ${text.length} characters; write it without looking back`,
  );
}

/** Whether JavaScript's own engine may be wrong: V8 finds `\B` with flag `u` within characters of two code units, such as emoji. */
function isMisread(text: string, pattern: string, flags: string): boolean {
  return flags.includes('u') && pattern.includes(String.raw`\B`) && /[\u{10000}-\u{10FFFF}]/u.test(text);
}

/**
 * Upper bound of the tries that a backtracking engine needs. Without a repeated group, each quantifier and the start of the match try at
 * most as many places as the text has, and each alternative doubles the number of ways. Something that only looks like a repeated group,
 * such as `\)+`, is treated as one, which is safe.
 */
function triesAtWorst(text: string, pattern: string): number {
  if (/\)[*+?{]/.test(pattern)) return Infinity;
  const quantifiers = pattern.match(/[*+?{]/g)?.length ?? 0;
  const alternatives = pattern.split('|').length - 1;
  return (text.length + 1) ** (quantifiers + 1) * 2 ** alternatives;
}

/** Follows all paths of a program through a text at the same time. */
class Walk {
  readonly #instructions: readonly Instruction[];
  readonly #start: number;
  readonly #characters: readonly string[] | string;
  readonly #budget: Budget;
  readonly #word: RegExp;

  constructor({ instructions, start }: PatternProgram, text: string, flags: string, budget: Budget) {
    this.#instructions = instructions;
    this.#start = start;
    this.#characters = flags.includes('u') ? Array.from(text) : text;
    this.#budget = budget;
    this.#word = new RegExp(String.raw`^\w$`, flags);
  }

  /** Whether the program matches anywhere in the text. */
  finds(): boolean {
    return this.#reachesEnd(this.#start, 0, true);
  }

  #reachesEnd(start: number, from: number, isAnywhere: boolean): boolean {
    let places = new Set<number>();
    for (let at = from; at <= this.#characters.length; at += 1) {
      if ((isAnywhere || at === from) && this.#enter(start, at, places)) return true;
      if (places.size === 0 && !isAnywhere) return false;
      const character = this.#characters[at];
      if (character === undefined) return false;
      const after = new Set<number>();
      for (const place of places) {
        const instruction = this.#instructions[place];
        if (instruction?.kind !== 'character' || !instruction.matches(character)) continue;
        if (this.#enter(instruction.next, at + 1, after)) return true;
      }
      places = after;
    }
    return false;
  }

  /** Adds a place, and all places that it leads to without reading a character. @returns whether the end is among them */
  #enter(start: number, at: number, places: Set<number>): boolean {
    const waiting = [start];
    for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
      if (places.has(place)) continue;
      places.add(place);
      this.#budget.takeSteps(1);
      const instruction = this.#instructions[place];
      if (instruction === undefined || instruction.kind === 'character') continue;
      if (instruction.kind === 'end') return true;
      if (instruction.kind === 'split') waiting.push(instruction.other, instruction.next);
      else if (this.#holds(instruction, at)) waiting.push(instruction.next);
    }
    return false;
  }

  #holds(instruction: Instruction & { readonly kind: 'edge' | 'ahead' }, at: number): boolean {
    if (instruction.kind === 'ahead') {
      return this.#reachesEnd(instruction.start, at, false) !== instruction.isNegated;
    }
    const { edge } = instruction;
    if (edge === '^') return at === 0;
    if (edge === '$') return at === this.#characters.length;
    return (this.#isWord(at - 1) !== this.#isWord(at)) === (edge === 'b');
  }

  #isWord(at: number): boolean {
    return this.#word.test(this.#characters[at] ?? '');
  }
}
