/** Collects the words of the commands in a shell script, to find out what a command does with the values in them. */
import {
  checkEvaluation,
  isInterpreter,
  takesScript,
  warnOfEvaluation,
  checkDescriptor,
  checkItems,
  checkNames,
  baseName,
  type SimpleCommand,
  type Word,
  type WordReference,
} from './check-names.ts';
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

/** Separates the assignments before a command from its words. */
function commandOf(written: readonly Word[]): SimpleCommand {
  const body = written.findIndex(({ text }, index) => index > 0 && index < 3 && text === '{');
  const all = body > 0 && ['function', 'for'].includes(written[0]?.text ?? '') ? written.slice(body + 1) : written;
  const assignments: Word[] = [];
  let hasPrefix = false;
  for (const [index, word] of all.entries()) {
    if (assignment.test(word.text)) assignments.push(word);
    else if (prefixes.includes(baseName(word)) && word.references.length === 0) hasPrefix = true;
    else if (!(hasPrefix && word.text.startsWith('-'))) return { assignments, words: all.slice(index) };
  }
  return { assignments, words: [] };
}

/** What words are: those of commands, items of a list (`a=(…)`), or a part of a condition within `[[ … ]]`. */
export type WordsKind = 'commands' | 'items' | 'condition';

const conditionStart: Word = { text: '[[', references: [] };

export class CommandWords {
  readonly #faults: TextFault[];
  readonly #evaluates: boolean;
  readonly #kind: WordsKind;
  #words: Word[];
  #text = '';
  #references: WordReference[] = [];
  #isOpen = false;
  /** Whether the next word is the target of a redirection. */
  #isTarget = false;
  /** References in commands before a pipe. */
  #piped: number[] = [];
  /** All references in this list of commands. */
  readonly all: number[] = [];

  /** @param evaluates - whether a variable of the script evaluates what is assigned to it */
  constructor(faults: TextFault[], evaluates = false, kind: WordsKind = 'commands') {
    this.#faults = faults;
    this.#evaluates = evaluates;
    this.#kind = kind;
    this.#words = kind === 'condition' ? [conditionStart] : [];
  }

  /** Whether this is within `[[ … ]]`, where `&&`, `||` and parentheses end no command. */
  get isCondition(): boolean {
    return this.#words[0]?.text === '[[';
  }

  /** Whether the next character begins a word. */
  get isAtStart(): boolean {
    return !this.#isOpen;
  }

  /** The current word so far. */
  get text(): string {
    return this.#text;
  }

  /** Whether this word begins a command. */
  get isFirst(): boolean {
    return this.#words.length === 0;
  }

  /** Whether `case` and its word were read, so that `in` is next. */
  get isCaseHead(): boolean {
    return this.#words.length === 2 && this.#words[0]?.text === 'case';
  }

  /** Whether the command so far runs its input. */
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

  /** Drops a number or the `{name}` of a variable directly before a redirection; it is a file descriptor. */
  dropDescriptor(): void {
    if (/^\{.*\}$/.test(this.#text)) checkDescriptor({ text: this.#text, references: this.#references }, this.#faults);
    if (this.#isOpen && /^\d+$/.test(this.#text) && this.#references.length === 0) this.#close();
  }

  /** Notes that the next word is the target of a redirection, not a word of the command. */
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
    else if (this.isCondition && word.text === ']]' && word.references.length === 0) this.#check();
    else if (this.#words.length === 0 && /^-[p-]$/.test(word.text) && word.references.length === 0) return; // An option of `time`.
    else if (this.#words.length > 0 || word.references.length > 0 || !openers.includes(word.text))
      this.#words.push(word);
  }

  /** Ends a pattern of a `case`, which is no command. */
  endPattern(): void {
    this.endWord();
    this.#words = [];
  }

  /** Ends a command. `isPiped`: the next command reads its output. */
  endCommand(isPiped = false): void {
    this.endWord();
    this.#isTarget = false;
    const isCondition = this.isCondition;
    const all = this.#check();
    if (isCondition) this.#words = [conditionStart];
    if (!isPiped) this.#piped = [];
    else for (const { references } of all) for (const { offset } of references) this.#piped.push(offset);
  }

  /** Reports what the words so far evaluate, and begins anew. */
  #check(): readonly Word[] {
    const all = this.#words;
    this.#words = [];
    if (this.#kind === 'items') checkItems(all, this.#faults);
    else {
      const command = commandOf(all);
      checkNames(command, this.#faults, this.#evaluates);
      checkEvaluation(command, this.#faults);
      if (takesScript(command))
        for (const offset of this.#piped) warnOfEvaluation(this.#faults, offset, command.words[0]?.text ?? '');
    }
    return all;
  }
}
