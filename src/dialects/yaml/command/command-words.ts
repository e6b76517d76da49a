/** Gathers the words of the commands in a shell script, so that what a command does with the values in them can be told. */
import { checkEvaluation, isInterpreter, takesScript, warnOfEvaluation } from './check-evaluation.ts';
import { checkNames } from './check-names.ts';
import { baseName, type SimpleCommand, type Word, type WordReference } from './simple-command.ts';
import type { TextFault } from '../expression/template.ts';

const assignment = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/;
/** Words after which a command begins. */
const openers: readonly string[] = ['if', 'then', 'else', 'elif', 'do', 'while', 'until', '!', '{', 'time', 'coproc'];

/** Commands that run the command after them. */
const prefixes: readonly string[] = [
  'command',
  'builtin',
  'exec',
  'nohup',
  'nice',
  'env',
  'sudo',
  'doas',
  'stdbuf',
  'busybox',
];

/** The assignments before a command, and its words from its name on. */
function commandOf(all: readonly Word[]): SimpleCommand {
  const assignments: Word[] = [];
  let hasPrefix = false;
  for (const [index, word] of all.entries()) {
    if (assignment.test(word.text)) assignments.push(word);
    else if (prefixes.includes(baseName(word)) && word.references.length === 0) hasPrefix = true;
    else if (!(hasPrefix && word.text.startsWith('-'))) return { assignments, words: all.slice(index) };
  }
  return { assignments, words: [] };
}

export class CommandWords {
  readonly #faults: TextFault[];
  readonly #evaluates: boolean;
  #words: Word[] = [];
  #text = '';
  #references: WordReference[] = [];
  #isOpen = false;
  /** The next word is the target of a redirection. */
  #isTarget = false;
  /** References in commands before a pipe. */
  #piped: number[] = [];
  /** Every reference in this list of commands. */
  readonly all: number[] = [];

  /** @param evaluates - a variable of the script evaluates what it is given */
  constructor(faults: TextFault[], evaluates = false) {
    this.#faults = faults;
    this.#evaluates = evaluates;
  }

  /** Whether the next character begins a word. */
  get isAtStart(): boolean {
    return !this.#isOpen;
  }

  /** What is written of the word so far. */
  get text(): string {
    return this.#text;
  }

  /** Whether a command begins with this word. */
  get isFirst(): boolean {
    return this.#words.length === 0;
  }

  /** Whether `case` and its word are what is read of the command: `in` comes next. */
  get isCaseHead(): boolean {
    return this.#words.length === 2 && this.#words[0]?.text === 'case';
  }

  /** Whether the command so far runs what it reads. */
  get isInterpreter(): boolean {
    return this.#words.some((word) => isInterpreter(baseName(word)));
  }

  write(text: string): void {
    this.#isOpen = true;
    this.#text += text;
  }

  refer(offset: number, isIndirect = false): void {
    this.#isOpen = true;
    this.#references.push({ offset, at: this.#text.length, isIndirect });
    this.all.push(offset);
  }

  /** Forgets the number right before a redirection. */
  dropNumber(): void {
    if (this.#isOpen && /^\d+$/.test(this.#text) && this.#references.length === 0) this.#close();
  }

  /** The next word is the target of a redirection, and no word of the command. */
  redirect(): void {
    this.#isTarget = true;
  }

  #close(): void {
    this.#isOpen = false;
    this.#text = '';
    this.#references = [];
  }

  endWord(): void {
    if (!this.#isOpen) return;
    const word = { text: this.#text, references: this.#references };
    this.#close();
    if (this.#isTarget) this.#isTarget = false;
    else if (this.#words.length > 0 || word.references.length > 0 || !openers.includes(word.text))
      this.#words.push(word);
  }

  /** Ends a command; `isPiped`: the next one reads its output. */
  endCommand(isPiped = false): void {
    this.endWord();
    this.#isTarget = false;
    const all = this.#words;
    this.#words = [];
    const command = commandOf(all);
    checkNames(command, this.#faults, this.#evaluates);
    checkEvaluation(command, this.#faults);
    if (takesScript(command))
      for (const offset of this.#piped) warnOfEvaluation(this.#faults, offset, command.words[0]?.text ?? '');
    if (!isPiped) this.#piped = [];
    else for (const { references } of all) for (const { offset } of references) this.#piped.push(offset);
  }
}
