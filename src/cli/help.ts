/** Explains commands. */
import type { Field } from '../operations/declare/operation.ts';
import type { Command } from './command.ts';
import { globalFields, optionNameOf } from './parse.ts';
import type { Screen } from './screen.ts';
import { pad, widthOf, wrap } from './text/width.ts';

const placeholders: Readonly<Record<Field['type'], string>> = {
  text: ' TEXT',
  integer: ' N',
  flag: '',
  value: ' VALUE',
  texts: ' TEXT,…',
  answer: ' VALUE',
  answers: ' NAME=VALUE',
  assignments: ' NAME=VALUE',
  words: '',
};

function nameField(name: string, field: Field): string {
  const option = optionNameOf(name);
  return field.isPositional === true ? option.toUpperCase() : `--${option}${placeholders[field.type]}`;
}

/** `answer RUN [WAIT] VALUE [options]` */
function usageOf({ name, fields }: Command): string {
  const places = Object.entries(fields)
    .filter(([, { isPositional }]) => isPositional === true)
    .map(([field, { isRequired, type }]) => {
      const place = `${optionNameOf(field).toUpperCase()}${type === 'words' ? '…' : ''}`;
      return isRequired === true ? place : `[${place}]`;
    });
  return ['cairn', name, ...places, '[options]'].join(' ');
}

/** Names in a column, what they are beside them, wrapped to the screen. */
function formatList(pairs: readonly (readonly [string, string])[], width: number): readonly string[] {
  const column = Math.min(26, Math.max(...pairs.map(([name]) => widthOf(name))));
  return pairs.flatMap(([name, text]) => {
    const [first = '', ...rest] = wrap(text, Math.max(20, width - column - 4));
    const head =
      widthOf(name) > column ? [`  ${name}`, `  ${pad('', column)}  ${first}`] : [`  ${pad(name, column)}  ${first}`];
    return [...head, ...rest.map((line) => `  ${pad('', column)}  ${line}`)];
  });
}

function describe({ description, choices }: Field): string {
  return choices === undefined ? description : `${description} (${choices.join(', ')})`;
}

/** The help of one command. */
export function explainCommand(command: Command, { width, paint }: Screen): readonly string[] {
  const fields = Object.entries({ ...command.fields, ...globalFields });
  const list = (isPositional: boolean): readonly (readonly [string, string])[] =>
    fields
      .filter(([, field]) => (field.isPositional === true) === isPositional)
      .map(([name, field]) => [nameField(name, field), describe(field)] as const);
  const places = list(true);
  const column = Math.min(width, 100);
  return [
    paint('strong', usageOf(command)),
    '',
    ...wrap(
      `${command.summary[0]?.toUpperCase()}${command.summary.slice(1)}. ${command.details ?? ''}`.trimEnd(),
      column,
    ),
    ...(places.length > 0 ? ['', ...formatList(places, column)] : []),
    '',
    'Options:',
    ...formatList(list(false), column),
    '',
    'Examples:',
    ...command.examples.flatMap(({ line, does }) => [`  ${line}`, `      ${paint('dim', does)}`]),
  ];
}

/** The help of the whole: each command in a line. */
export function explainAll(commands: readonly Command[], { width, paint }: Screen): readonly string[] {
  return [
    paint('strong', 'cairn COMMAND [options]'),
    '',
    ...wrap(
      'Durable workflows: run a graph, answer its questions, and walk its history like that of a repository.',
      Math.min(width, 100),
    ),
    '',
    ...formatList(
      commands.map(({ name, summary }) => [name, summary] as const),
      Math.min(width, 100),
    ),
    '',
    ...wrap(
      'A RUN is named by its id or the beginning of it; a checkpoint by its id, RUN@12, RUN@tag, RUN@head or RUN@head~2.',
      Math.min(width, 100),
    ),
    'Every command explains itself with --help.',
  ];
}
