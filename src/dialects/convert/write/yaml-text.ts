/** Texts of a workflow file: what stands in them is text, but for the values of inputs and answers. */
import { hasBraces } from '../../yaml/braces/split-braces.ts';
import { parseCommand } from '../../yaml/command/parse-command.ts';
import type { Names, Scope } from '../../yaml/expression/template.ts';
import type { Text } from '../outline/outline.ts';

/** How the answer of a model is read from its block. */
export type AnswerOf = (step: string) => string;

/** The text for a field that takes references. Nothing in it becomes an expression, or makes a file of the `{{ }}` form. */
export function yamlText(text: Text, answerOf: AnswerOf): string {
  const written = text.map((piece, index) => {
    if (typeof piece !== 'string')
      return 'input' in piece ? `\${inputs.${piece.input}}` : `\${${answerOf(piece.answerOf)}}`;
    // A dollar sign before a reference would say that the reference is text.
    const isCut = piece.endsWith('$') && typeof text[index + 1] === 'object';
    return isCut ? `${plain(piece.slice(0, -1))}\${'$'}` : plain(piece);
  });
  return written.join('');
}

function plain(text: string): string {
  return escaped(text).replaceAll(/\{(?=[{%#])/g, () => "${'{'}");
}

/** Says of every expansion that it is none of the workflow's. */
function escaped(text: string): string {
  return text.replaceAll('${', () => '$${');
}

/** A text in an expression. Signs that would begin something in a file are kept apart. */
export function quotedText(text: string): string {
  const parts = text.split(/(?<=\$)(?=\{)|(?<=\{)(?=[{%#])/);
  return parts.map((part) => (/^[^'\\\p{Cc}]*$/u.test(part) ? `'${part}'` : JSON.stringify(part))).join(' + ');
}

const noScope: Scope = {
  inputs: {},
  metadata: {},
  each: undefined,
  block: () => ({ status: 'skipped', output: undefined, error: undefined }),
};

/** A script as a command that means the same letter by letter: as it stands, with its expansions marked as the shell's, or as one value. */
export function yamlCommand(script: string, names: Names): string {
  const forms = [script, escaped(script)];
  return forms.find((form) => meansItself(form, script, names)) ?? `\${raw(${quotedText(script)})}`;
}

function meansItself(form: string, script: string, names: Names): boolean {
  if (hasBraces(form)) return false;
  const { template, faults } = parseCommand(form, names);
  if (faults.some(({ severity }) => severity !== 'warning') || template.named.inputs.length > 0) return false;
  const command = template.evaluate(noScope);
  return command.script === script && Object.keys(command.env).length === 0;
}
