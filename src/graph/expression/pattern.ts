/**
 * Matches a text against a regular expression from an untrusted author in bounded time. Some patterns take exponential time with
 * JavaScript's own engine.
 */
import { currentBudget, type Budget } from './expression-budget.ts';

// Regular expressions as programs of small instructions, executed by following all paths at once, in time proportional to the text.
// JavaScript's own engine tries one path after another, which for some patterns takes exponential time.

/** One instruction of a program. `next` is the index of the instruction after it. */
export type Instruction =
  | { readonly kind: 'character'; readonly matches: (character: string) => boolean; next: number }
  | { readonly kind: 'split'; next: number; other: number }
  | { readonly kind: 'edge'; readonly edge: '^' | '$' | 'b' | 'B'; next: number }
  | { readonly kind: 'ahead'; readonly start: number; readonly isNegated: boolean; next: number }
  | { readonly kind: 'end' };

/** The most instructions. Nested repetitions such as `{1000}` within `{1000}` would be unrolled a million times. */
const maxInstructions = 5_000;

/** The most characters whose answer is cached for each character class. */
const maxAnswers = 1_000;

/** The deepest nesting of groups. */
const maxDepth = 200;

/**
 * Thrown for a pattern that cannot be a program: with back references or lookbehind, or too long or too deep when its repetitions are
 * unrolled.
 */
class Unsupported extends Error {}

/**
 * Parses a pattern that JavaScript has accepted as valid. The program is written from its end: each part gets the instruction that follows
 * it.
 */
class Reader {
  readonly program: Instruction[] = [];
  readonly #pattern: string;
  readonly #flags: string;
  readonly #tests = new Map<string, (character: string) => boolean>();
  #at = 0;
  #depth = 0;

  constructor(pattern: string, flags: string) {
    this.#pattern = pattern;
    this.#flags = flags;
  }

  add(instruction: Instruction): number {
    if (this.program.length >= maxInstructions) throw new Unsupported();
    return this.program.push(instruction) - 1;
  }

  /**
   * Parses alternatives. @returns a function that takes the instruction that follows, writes their program, and returns the index of its
   * first instruction
   */
  alternatives(): Part {
    const parts = [this.#sequence()];
    while (this.#take('|')) parts.push(this.#sequence());
    return (next) =>
      parts.map((part) => part(next)).reduceRight((other, start) => this.add({ kind: 'split', next: start, other }));
  }

  #sequence(): Part {
    const parts: Part[] = [];
    while (this.#at < this.#pattern.length && !this.#sees('|') && !this.#sees(')')) parts.push(this.#repeated());
    return (next) => parts.reduceRight((after, part) => part(after), next);
  }

  #repeated(): Part {
    const part = this.#atom();
    const [text, sign, least, comma, most] = this.#match(/^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/) ?? [];
    if (text === undefined) return part;
    if (sign === '*') return this.#times(part, 0, Infinity);
    if (sign === '+') return this.#times(part, 1, Infinity);
    if (sign === '?') return this.#times(part, 0, 1);
    return this.#times(part, Number(least), most !== '' ? Number(most) : comma === '' ? Number(least) : Infinity);
  }

  #times(part: Part, least: number, most: number): Part {
    return (next) => {
      let start = next;
      if (most === Infinity) {
        const again = { kind: 'split', next: -1, other: next } as Instruction & { kind: 'split' };
        const loop = this.add(again);
        again.next = part(loop);
        start = least === 0 ? loop : again.next;
      }
      const optional = most === Infinity ? 0 : most - least;
      for (let index = 0; index < optional; index += 1) {
        start = this.add({ kind: 'split', next: part(start), other: next });
      }
      const rest = most === Infinity ? least - 1 : least;
      for (let index = 0; index < rest; index += 1) start = part(start);
      return start;
    };
  }

  #atom(): Part {
    const edge = this.#match(/^(?:[\^$]|\\[bB])/)?.[0].replace('\\', '');
    if (edge !== undefined) return (next) => this.add({ kind: 'edge', edge: edge as '^', next });
    if (this.#sees('(')) return this.#group();
    const source = this.#match(/^\[(?:\\[^]|[^\]\\])*\]/)?.[0] ?? this.#character();
    const matches = this.#test(source);
    return (next) => this.add({ kind: 'character', matches, next });
  }

  #group(): Part {
    const opening = this.#match(/^\((?:\?(?:[:=!]|<[=!]|<[^>]*>)?)?/)?.[0] ?? '';
    if (opening === '(?' || opening === '(?<=' || opening === '(?<!') throw new Unsupported();
    this.#depth += 1;
    if (this.#depth > maxDepth) throw new Unsupported();
    const inner = this.alternatives();
    this.#depth -= 1;
    this.#at += 1;
    if (opening !== '(?=' && opening !== '(?!') return inner;
    return (next) => {
      const start = inner(this.add({ kind: 'end' }));
      return this.add({ kind: 'ahead', start, isNegated: opening === '(?!', next });
    };
  }

  /** Parses one literal character. */
  #character(): string {
    if (this.#match(/^\\(?:[1-9k]|0\d)/) !== undefined) throw new Unsupported();
    const isUnicode = this.#flags.includes('u');
    const escapes = isUnicode
      ? /^\\(?:x[\da-f]{2}|u\{[\da-f]+\}|ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|u[\da-f]{4}|c[a-z]|p\{[^}]*\}|[^])/iu
      : /^\\(?:x[\da-f]{2}|u[\da-f]{4}|c[a-z]|[^])/i;
    const character = this.#match(escapes)?.[0] ?? this.#match(isUnicode ? /^[^]/u : /^[^]/)?.[0] ?? '';
    if (character.endsWith('\\c')) throw new Unsupported();
    return character;
  }

  /** A test for one character class. JavaScript's own engine answers; its answers are cached. */
  #test(source: string): (character: string) => boolean {
    const known = this.#tests.get(source);
    if (known !== undefined) return known;
    const expression = new RegExp(`^(?:${/^[{}\]]$/.test(source) ? `\\${source}` : source})$`, this.#flags);
    const answers = new Map<string, boolean>();
    const test = (character: string): boolean => {
      const answer = answers.get(character) ?? expression.test(character);
      if (answers.size < maxAnswers) answers.set(character, answer);
      return answer;
    };
    this.#tests.set(source, test);
    return test;
  }

  #sees(sign: string): boolean {
    return this.#pattern.startsWith(sign, this.#at);
  }

  #take(sign: string): boolean {
    if (!this.#sees(sign)) return false;
    this.#at += sign.length;
    return true;
  }

  #match(expression: RegExp): RegExpMatchArray | undefined {
    const found = this.#pattern.slice(this.#at).match(expression);
    this.#at += found?.[0].length ?? 0;
    return found ?? undefined;
  }
}

type Part = (next: number) => number;

export interface PatternProgram {
  readonly instructions: readonly Instruction[];
  readonly start: number;
}

/** The program of a pattern; undefined if it has a back reference, looks behind, or is too long when its repetitions are unrolled. */
export function programOf(pattern: string, flags: string): PatternProgram | undefined {
  const reader = new Reader(pattern, flags);
  try {
    const end = reader.add({ kind: 'end' });
    const start = reader.alternatives()(end);
    return { instructions: reader.program, start };
  } catch (error) {
    if (error instanceof Unsupported) return undefined;
    throw error;
  }
}

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
