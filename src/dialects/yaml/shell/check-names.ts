/** Finds places where a shell evaluates a word's content, quoted or not: names of variables, and arithmetic (T8). */
import type { TextFault } from '../expression/template.ts';

// A command of a shell script, in words.

export interface WordReference {
  readonly offset: number;
  /** Number of characters of the word that are before it. */
  readonly at: number;
  /** Whether it is inside of a command whose output is part of the word. */
  readonly isIndirect: boolean;
}

/** A word without quotes. References contribute nothing to its text. */
export interface Word {
  readonly text: string;
  readonly references: readonly WordReference[];
}

export interface SimpleCommand {
  readonly assignments: readonly Word[];
  /** The command's name and arguments. */
  readonly words: readonly Word[];
}

/** The name of a program without its folder. */
export const baseName = ({ text }: Word): string => text.slice(text.lastIndexOf('/') + 1);

const declarers: readonly string[] = ['export', 'declare', 'typeset', 'local', 'readonly'];
const testers: readonly string[] = ['test', '[', '[['];
/** Options that take a value, for commands whose arguments are names. */
const optionsWithValue: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({
    read: /^-\w*[dinNptu]$/,
    mapfile: /^-\w*[dnsu]$/,
    readarray: /^-\w*[dnsu]$/,
    unset: /^$/,
  }),
);

type Reason = readonly [message: string, fix: string];

const name: Reason = ['a value is taken for the name of a variable', 'write the name out'];
const partOfName: Reason = [
  'a value is part of the name of a variable',
  'write the name out, and give the value after the =',
];
const subscript: Reason = [
  'a value as a subscript is evaluated by the shell',
  'put it into a variable of its own first',
];
const attribute: Reason = [
  'a variable with this option evaluates what it is given',
  'declare it without the option, or check the value first',
];
const numbers: Reason = [
  'the shell evaluates what [[ compares as numbers',
  'use [ … ], which takes numbers only, or compare in the condition of the block',
];

/** Why a value in arithmetic is refused. */
export const arithmetic: Reason = [
  'the shell evaluates what stands in arithmetic',
  'reckon in the reference: ${n + 1}, or put the value into a variable and check it first',
];

const isBeforeEquals = ({ text }: Word, { at }: WordReference): boolean => {
  const equals = text.indexOf('=');
  return equals < 0 || at <= equals;
};

/** Properties of a command as a whole. */
interface Traits {
  /** Whether a variable of the script evaluates what is assigned to it. */
  readonly evaluates: boolean;
  /** Index of the first option that makes declared variables evaluate what is assigned to them. */
  readonly option: number;
}

function traitsOf(words: readonly Word[], evaluates: boolean): Traits {
  const option = words.findIndex(({ text }) => /^[-+]\w*[aAin]/.test(text));
  return {
    evaluates,
    option: option < 0 ? words.length : option,
  };
}

const comparison = /^-(?:eq|ne|lt|le|gt|ge)$/;
/** Matches what stands before a value in the subscript of a variable. */
const beforeSubscript = /^[A-Za-z_]\w*\[/;

/** Whether the name of the command is written out, so that it is known what it does with its words. */
const isWrittenOut = ({ text, references }: Word): boolean =>
  text !== '' && references.length === 0 && !/[$`]/.test(text);

/**
 * Whether the shell takes a word for a subscript: an assignment stands where a command begins. Any other word is one only for commands
 * that take names of variables, and these are known by their own names.
 */
function isSubscript(words: readonly Word[], index: number, { at }: WordReference): boolean {
  const before = (words[index] as Word).text.slice(0, at);
  return beforeSubscript.test(before) && (index === 0 || !isWrittenOut(words[0] as Word));
}

/** Whether a value is attached to an option that takes the name of a variable, as in `printf -v${x}`. */
const isAttachedName = (command: string, { text }: Word, { at }: WordReference): boolean =>
  (command === 'printf' && at >= 2 && text.startsWith('-v')) ||
  (command === 'wait' && at >= 2 && text.startsWith('-p')) ||
  (command === 'read' && /^-\w*a/.test(text.slice(0, at)));

/** Why a reference in a word of a command is refused; undefined if it is not. */
function refusalOf(
  words: readonly Word[],
  index: number,
  reference: WordReference,
  traits: Traits,
): Reason | undefined {
  const word = words[index] as Word;
  const command = words[0]?.text ?? '';
  const previous = words[index - 1]?.text ?? '';
  const next = words[index + 1]?.text ?? '';
  if (isSubscript(words, index, reference)) return subscript;
  if (command === 'let') return arithmetic;
  if (traits.evaluates && ['for', 'select'].includes(command)) return attribute;
  if (declarers.includes(command)) {
    if (index > traits.option) return attribute;
    if (word.text.startsWith('-') || !isBeforeEquals(word, reference)) return undefined;
    return beforeSubscript.test(word.text.slice(0, reference.at)) ? subscript : partOfName;
  }
  if (isAttachedName(command, word, reference)) return name;
  const valued = optionsWithValue.get(command);
  if (valued !== undefined && !word.text.startsWith('-') && !valued.test(previous)) return name;
  if (command === 'getopts' && index === 2) return name;
  if (previous === '-v' && command === 'printf' && index === 2) return name;
  if (/^-[vR]$/.test(previous) && testers.includes(command)) return name;
  if (command === 'wait' && previous === '-p') return name;
  const isCompared = comparison.test(previous) || comparison.test(next);
  return command === '[[' && isCompared ? numbers : undefined;
}

/**
 * Reports values that a command would evaluate.
 * @param evaluates - whether a variable of the script evaluates what is assigned to it
 */
export function checkNames({ assignments, words }: SimpleCommand, faults: TextFault[], evaluates: boolean): void {
  const report = ({ offset }: WordReference, [message, fix]: Reason): void => {
    faults.push({ offset, rule: 'T8', message, fix });
  };
  const direct = ({ references }: Word): readonly WordReference[] => references.filter(({ isIndirect }) => !isIndirect);
  for (const word of assignments) {
    for (const reference of direct(word)) {
      if (isBeforeEquals(word, reference)) report(reference, word.text.includes('[') ? subscript : partOfName);
      else if (evaluates) report(reference, attribute);
    }
  }
  const traits = traitsOf(words, evaluates);
  for (const [index, word] of words.entries()) {
    for (const reference of direct(word)) {
      if (index === 0 && /^\w*\+?=/.test(word.text) && isBeforeEquals(word, reference)) report(reference, partOfName);
      else {
        const reason = refusalOf(words, index, reference, traits);
        if (reason !== undefined) report(reference, reason);
      }
    }
  }
}

/** Reports values in the subscripts of a list's items, as in `a=([${n}]=1)`. */
export function checkItems(items: readonly Word[], faults: TextFault[]): void {
  for (const { text, references } of items) {
    for (const { at, offset, isIndirect } of references) {
      const isWithin = text.startsWith('[') && text.indexOf(']', at) >= 0 && /\]\+?=/.test(text.slice(at));
      if (isWithin && !isIndirect) faults.push({ offset, rule: 'T8', message: subscript[0], fix: subscript[1] });
    }
  }
}

/** Reports values in the name of a variable for a file descriptor, as in `{fd[${n}]}>file`. */
export function checkDescriptor({ text, references }: Word, faults: TextFault[]): void {
  const [message, fix] = subscript;
  for (const { at, offset } of references)
    if (text.slice(0, at).includes('[')) faults.push({ offset, rule: 'T8', message, fix });
}

/** Matches declarations that make later assignments evaluate their values. */
export const evaluatingDeclaration: RegExp =
  /\b(?:declare|typeset|local|readonly|export)(?:[ \t]+[-+]\w+)*[ \t]+[-+]\w*[in]/;

// Finds programs that interpret their arguments as code, so that a value in them is more than data (T9).

const shells: readonly string[] = ['sh', 'bash', 'dash', 'ksh', 'zsh', 'ash', 'su'];
/** For each program, the option that is followed by code; undefined if the first argument is code. */
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
/** Commands that evaluate all their arguments, with the number of words before these. */
const evaluators: Readonly<Record<string, number>> = {
  eval: 1,
  trap: 1,
  watch: 1,
  alias: 1,
  compgen: 1,
  complete: 1,
  bind: 1,
  ssh: 2,
  sqlite3: 2,
};
/** How many words to search for a program's options. */
const maxDistance = 40;
/** Matches variables whose values a shell expands. */
const expanded = /^(?:PS[0-4]|PROMPT_COMMAND|BASH_ENV|ENV)\+?=/;

/** Whether a program runs its input. */
export const isInterpreter = (program: string): boolean =>
  Object.hasOwn(interpreters, program) || program === 'ssh' || program === 'sqlite3';

/** Whether a command runs what is piped into it. */
export function takesScript({ words: [first, ...others] }: SimpleCommand): boolean {
  if (first === undefined) return false;
  const program = baseName(first);
  return program === 'xargs' || (shells.includes(program) && others.every(({ text }) => text.startsWith('-')));
}

/** Warns that a value is passed to something that evaluates it. */
export function warnOfEvaluation(faults: TextFault[], offset: number, by: string): void {
  faults.push({
    offset,
    rule: 'T9',
    severity: 'warning',
    message: `${by} evaluates this text again, and so the value in it`,
    fix: 'hand the value over as an argument or through the environment of that program',
  });
}

/** The index of the code in arguments of awk and sed: the first word that is not an option, or the one after -e. */
function programIndex(words: readonly Word[]): number {
  let index = 0;
  while (index < words.length) {
    const text = words[index]?.text ?? '';
    if (text === '-e' || text === '-f') return index + 1;
    if (!text.startsWith('-')) return index;
    index += /^-[vF]$/.test(text) ? 2 : 1;
  }
  return index;
}

/** Warns of references in words that a program interprets as code. */
export function checkEvaluation({ assignments, words }: SimpleCommand, faults: TextFault[]): void {
  const warn = (list: readonly Word[], by: string): void => {
    for (const { references } of list) for (const { offset } of references) warnOfEvaluation(faults, offset, by);
  };
  for (const word of [...assignments, ...words]) if (expanded.test(word.text)) warn([word], 'the shell');
  /** Whether the word is the command, because all words before it are expansions, which may be empty. */
  let isCommand = true;
  for (const [index, word] of words.entries()) {
    const program = baseName(word);
    if (Object.hasOwn(evaluators, program)) {
      // The program may be run by another one, as in `sudo ssh …`. A word that only looks like a program costs no more than a warning.
      if (isCommand || program === 'ssh' || program === 'watch') {
        return warn(words.slice(index + (evaluators[program] ?? 1)), program);
      }
    } else if (Object.hasOwn(interpreters, program)) {
      const option = interpreters[program];
      const rest = words.slice(index + 1, index + maxDistance);
      const at = option === undefined ? programIndex(rest) : rest.findIndex(({ text }) => option.test(text)) + 1;
      if (option === undefined || at > 0) warn(rest.slice(at, at + 1), program);
    }
    isCommand &&= word.text.startsWith('$');
  }
}
