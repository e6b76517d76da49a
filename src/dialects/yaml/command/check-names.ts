/** Finds places where a shell evaluates a word's content, quoted or not: names of variables, and arithmetic (T8). */
import type { SimpleCommand, Word, WordReference } from './simple-command.ts';
import type { TextFault } from '../expression/template.ts';

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
  /** Whether it compares numbers within `[[ … ]]`. */
  readonly reckons: boolean;
  /** Index of the first option that makes declared variables evaluate what is assigned to them. */
  readonly option: number;
}

function traitsOf(words: readonly Word[], evaluates: boolean): Traits {
  const option = words.findIndex(({ text }) => /^[-+]\w*[aAin]/.test(text));
  return {
    evaluates,
    reckons: words[0]?.text === '[[' && words.some(({ text }) => /^-(?:eq|ne|lt|le|gt|ge)$/.test(text)),
    option: option < 0 ? words.length : option,
  };
}

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
  if (/^(?:[A-Za-z_]\w*)?\[[^\]]*$/.test(word.text.slice(0, reference.at))) return subscript;
  if (command === 'let') return arithmetic;
  if (traits.evaluates && ['for', 'select'].includes(command)) return attribute;
  if (declarers.includes(command)) {
    if (index > traits.option) return attribute;
    return !word.text.startsWith('-') && isBeforeEquals(word, reference) ? partOfName : undefined;
  }
  const valued = optionsWithValue.get(command);
  if (valued !== undefined && !word.text.startsWith('-') && !valued.test(previous)) return name;
  if (command === 'getopts' && index === 2) return name;
  if (previous === '-v' && (command === 'printf' || testers.includes(command))) return name;
  if (command === 'wait' && previous === '-p') return name;
  return traits.reckons ? numbers : undefined;
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

/** Matches declarations that make later assignments evaluate their values. */
export const evaluatingDeclaration: RegExp =
  /\b(?:declare|typeset|local|readonly|export)(?:[ \t]+[-+]\w+)*[ \t]+[-+]\w*[in]/;
