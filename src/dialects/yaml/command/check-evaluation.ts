/** Finds programs that interpret their arguments as code, so that a value in them is more than data (T9). */
import { baseName, type SimpleCommand, type Word } from './simple-command.ts';
import type { TextFault } from '../expression/template.ts';

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
  const warn = (given: readonly Word[], by: string): void => {
    for (const { references } of given) for (const { offset } of references) warnOfEvaluation(faults, offset, by);
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
