/** The words of one command of a shell script, as far as is needed to say where a value would be taken for more than data (T8, T9). */
import type { TextFault } from './text-contract.ts';

interface WordReference {
  readonly offset: number;
  /** How much of the word is written before it. */
  readonly at: number;
  /** It stands in a command whose output is part of the word. */
  readonly isIndirect: boolean;
}

interface Word {
  readonly text: string;
  readonly references: readonly WordReference[];
}

const assignment = /^[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=/;
/** Words after which a command begins. */
const openers: readonly string[] = ['if', 'then', 'else', 'elif', 'do', 'while', 'until', '!', '{', 'time', 'coproc'];
const shells: readonly string[] = ['sh', 'bash', 'dash', 'ksh', 'zsh', 'ash', 'su'];
/** Programs that take a program as an argument, and the option before it; undefined: the first argument. */
const interpreters: Readonly<Record<string, RegExp | undefined>> = {
  ...Object.fromEntries(shells.map((shell) => [shell, /^-[a-z]*c$/])),
  python: /^-[a-zA-Z]*c$/,
  python3: /^-[a-zA-Z]*c$/,
  node: /^(?:-e|-p|-pe|--eval|--print)$/,
  perl: /^-[a-zA-Z]*[eE]$/,
  ruby: /^-[a-zA-Z]*e$/,
  php: /^-r$/,
  psql: /^(?:-c|--command)$/,
  mysql: /^(?:-e|--execute)$/,
  awk: undefined,
  gawk: undefined,
  mawk: undefined,
  sed: undefined,
};
const declarers: readonly string[] = ['export', 'declare', 'typeset', 'local', 'readonly', 'unset'];

/** Says once that a value is handed to something that takes it for more than data (T9). */
export function warnOfEvaluation(faults: TextFault[], offset: number, by: string): void {
  if (faults.some((fault) => fault.rule === 'T9' && fault.offset === offset)) return;
  faults.push({
    offset,
    rule: 'T9',
    severity: 'warning',
    message: `${by} evaluates this text again, and so the value in it`,
    fix: 'hand the value over as an argument or through the environment of that program',
  });
}

const baseName = (word: string): string => word.slice(word.lastIndexOf('/') + 1);

export class CommandWords {
  readonly #faults: TextFault[];
  #words: Word[] = [];
  #text = '';
  #references: WordReference[] = [];
  #isOpen = false;
  /** References in commands before a pipe. */
  #piped: number[] = [];
  /** Every reference in this list of commands. */
  readonly all: number[] = [];

  constructor(faults: TextFault[]) {
    this.#faults = faults;
  }

  /** Whether the next character begins a word. */
  get isAtStart(): boolean {
    return !this.#isOpen;
  }

  /** What is written of the word so far. */
  get text(): string {
    return this.#text;
  }

  /** The words before this one. */
  get before(): readonly string[] {
    return this.#words.map(({ text }) => text);
  }

  /** Whether the command so far runs what it reads. */
  get isInterpreter(): boolean {
    return this.before.some((word) => {
      const name = baseName(word);
      return Object.hasOwn(interpreters, name) || name === 'ssh' || name === 'sqlite3';
    });
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

  #fault(offset: number, message: string, fix: string): void {
    this.#faults.push({ offset, rule: 'T8', message, fix });
  }

  endWord(): void {
    if (!this.#isOpen) return;
    this.#words.push({ text: this.#text, references: this.#references });
    this.#isOpen = false;
    this.#text = '';
    this.#references = [];
    const only = this.#words.length === 1 ? this.#words[0] : undefined;
    if (only !== undefined && only.references.length === 0 && openers.includes(only.text)) this.#words = [];
  }

  /** Ends a command; `isPiped`: the next one reads its output. */
  endCommand(isPiped = false): void {
    this.endWord();
    const words = this.#words;
    this.#words = [];
    for (const [index, word] of words.entries()) this.#checkName(words, index, word);
    this.#checkTest(words);
    const command = this.#command(words);
    this.#checkEvaluation(command);
    const name = baseName(command[0]?.text ?? '');
    const takesScript =
      shells.includes(name) && command.every(({ text }, index) => index === 0 || text.startsWith('-'));
    if (takesScript || name === 'xargs') {
      for (const offset of this.#piped) this.#warn(offset, name);
    }
    const own = words.flatMap(({ references }) => references.map(({ offset }) => offset));
    this.#piped = isPiped ? [...this.#piped, ...own] : [];
  }

  /** The words from the name of the command on. */
  #command(words: readonly Word[]): readonly Word[] {
    const first = words.findIndex(({ text }) => !assignment.test(text));
    return first < 0 ? [] : words.slice(first);
  }

  /** A value is no name of a variable, and no subscript: both are evaluated. */
  #checkName(words: readonly Word[], index: number, { text, references }: Word): void {
    const command = this.#command(words.slice(0, index))[0]?.text;
    const declares = command !== undefined && declarers.includes(command) && !text.startsWith('-');
    const equals = text.indexOf('=');
    for (const { offset, at, isIndirect } of references) {
      if (isIndirect) continue;
      const before = text.slice(0, at);
      if (/^(?:[A-Za-z_]\w*)?\[[^\]]*$/.test(before)) {
        this.#fault(
          offset,
          'a value as a subscript is evaluated by the shell',
          'put it into a variable of its own first',
        );
      } else if (command === 'let') this.#arithmetic(offset);
      else if (
        (declares && (equals < 0 || at <= equals)) ||
        (command === undefined && equals >= 0 && at <= equals && /^\w*\+?$/.test(text.slice(0, equals)))
      ) {
        this.#fault(
          offset,
          'a value is part of the name of a variable',
          'write the name out, and give the value after the =',
        );
      } else if (words[index - 1]?.text === '-v' && ['printf', 'test', '[', '[['].includes(command ?? '')) {
        this.#fault(offset, 'a value is taken for the name of a variable', 'write the name out');
      }
    }
  }

  /** Says that a value stands where the shell reckons. */
  #arithmetic(offset: number): void {
    const fix = 'put it into a variable and check it first, or reckon in the reference: ${n + 1}';
    this.#fault(offset, 'the shell evaluates what stands in arithmetic', fix);
  }

  /** `[[ a -eq b ]]` reckons, unlike `[ a -eq b ]`. */
  #checkTest(words: readonly Word[]): void {
    const [first] = this.#command(words);
    const from = first === undefined ? -1 : words.indexOf(first);
    if (first?.text !== '[[' || !words.some(({ text }) => /^-(?:eq|ne|lt|le|gt|ge)$/.test(text))) return;
    for (const { references } of words.slice(from)) {
      for (const { offset, isIndirect } of references) {
        if (isIndirect) continue;
        const fix = 'use [ … ], which takes numbers only, or compare in the condition of the block';
        this.#fault(offset, 'the shell evaluates what [[ compares as numbers', fix);
      }
    }
  }

  #warn(offset: number, by: string): void {
    warnOfEvaluation(this.#faults, offset, by);
  }

  /** References that a program takes for a program. */
  #checkEvaluation(command: readonly Word[]): void {
    const warnAll = (words: readonly Word[], by: string): void => {
      for (const { references } of words) for (const { offset } of references) this.#warn(offset, by);
    };
    const [first] = command;
    const name = baseName(first?.text ?? '');
    if (name === 'eval' || name === 'trap' || name === 'watch' || name === 'alias') warnAll(command.slice(1), name);
    if (name === 'ssh') warnAll(command.slice(2), name);
    if (name === 'sqlite3') warnAll(command.slice(2), name);
    for (const [index, word] of command.entries()) {
      const program = baseName(word.text);
      if (!Object.hasOwn(interpreters, program)) continue;
      const option = interpreters[program];
      const rest = command.slice(index + 1);
      const at = option === undefined ? programIndex(rest) : rest.findIndex(({ text }) => option.test(text)) + 1;
      if (option === undefined || at > 0) warnAll(rest.slice(at, at + 1), program);
    }
  }
}

/** Where the program of awk and sed is: the first word that is no option; options with a word of their own have it after them. */
function programIndex(words: readonly Word[]): number {
  let index = 0;
  while (index < words.length) {
    const text = words[index]?.text ?? '';
    if (text === '-e' || text === '-f') return index + 1;
    if (!text.startsWith('-')) return index;
    index += /^-[vFiI]$/.test(text) && text !== '-i' ? 2 : 1;
  }
  return index;
}
