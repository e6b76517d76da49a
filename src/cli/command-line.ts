/** From arguments to an exit code: finds the command, reads its arguments, executes it, tells what went wrong. */
import type { Field } from '../operations/contract/operation.ts';
import type { Command } from './command.ts';
import { reportFailure } from './report-failure.ts';
import { namesStore, openSession, type Session } from './session.ts';
import { globalFields, optionNameOf, parseArguments, primaryOptionOf } from './parse.ts';
import { type Screen, openScreen } from './screen.ts';
import { pad, widthOf, wrap } from './text/width.ts';
import { missingStore } from '../app/open-store/open-reading.ts';
import { readVersion } from '../app/version.ts';
import { CairnError } from '../errors.ts';
import { reserveOutput } from './files.ts';
import { nearest } from '../operations/contract/nearest.ts';
import { splitCommand } from './split-command.ts';

// Explains commands.

const placeholders: Readonly<Record<Field['type'], string>> = {
  text: ' TEXT',
  run: ' RUN',
  checkpoint: ' CHECKPOINT',
  time: ' TIME',
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
  const option = primaryOptionOf(name, field);
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

function describe({ description, choices, default: value }: Field): string {
  const text = value === undefined ? description : `${description}; default ${value}`;
  return choices === undefined ? text : `${text} (${choices.join(', ')})`;
}

/** The help of one command. */
function explainCommand(command: Command, { width, paint }: Screen): readonly string[] {
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

/** Commands by what they are for: the titles and the order of the help. */
export type CommandGroups = Readonly<Record<string, readonly Command[]>>;

/** The help of the whole: each command in a line, in groups. */
function explainAll(groups: CommandGroups, { width, paint }: Screen): readonly string[] {
  const names = Object.values(groups).flatMap((commands) => commands.map(({ name }) => name));
  const column = Math.max(...names.map(widthOf));
  return [
    paint('strong', 'cairn COMMAND [options]'),
    '',
    ...wrap(
      'Durable workflows: run a graph, answer its questions, and walk its history like that of a repository.',
      Math.min(width, 100),
    ),
    '',
    ...Object.entries(groups).flatMap(([title, commands]) => [
      paint('strong', title),
      ...formatList(
        commands.map(({ name, summary }) => [pad(name, column), summary] as const),
        Math.min(width, 100),
      ),
      '',
    ]),
    ...wrap(
      'A RUN is named by its id or the beginning of it; a checkpoint by its id, RUN@12, RUN@tag, RUN@head or RUN@head~2.',
      Math.min(width, 100),
    ),
    'Every command explains itself with --help.',
  ];
}

function findCommand(commands: readonly Command[], name: string): Command {
  const command = commands.find((candidate) => candidate.name === name);
  if (command !== undefined) return command;
  const guess = nearest(
    name,
    commands.map((each) => each.name),
  );
  throw new CairnError('USAGE_INVALID', {
    reason: `unknown command ${JSON.stringify(name)}`,
    hint: guess === undefined ? 'List the commands with: cairn --help' : `Did you mean ${guess}?`,
  });
}

/** A run is not found in a store that does not exist either: the error then names the store. */
async function withStorePlace(session: Session, error: unknown): Promise<unknown> {
  if (!CairnError.is(error, 'RUN_NOT_FOUND')) return error;
  const missing = await missingStore(session);
  if (missing === undefined) return error;
  return new CairnError('RUN_NOT_FOUND', { ...error.data, missingStore: missing, hint: namesStore }, { cause: error });
}

async function execute(groups: CommandGroups, args: readonly string[], screen: Screen): Promise<number> {
  const { name, rest } = splitCommand(args);
  if (name === undefined && rest.includes('--version')) {
    screen.print(`cairn ${readVersion()}`);
    return 0;
  }
  const isHelp = name === undefined || name === 'help';
  const topic = name === 'help' ? rest.find((word) => !word.startsWith('-')) : undefined;
  if (isHelp && topic === undefined) {
    screen.print(explainAll(groups, screen));
    return name === undefined && rest.length === 0 ? 2 : 0;
  }
  const command = findCommand(Object.values(groups).flat(), topic ?? name ?? '');
  const { values, texts } =
    topic === undefined ? parseArguments(command.fields, rest) : { values: { help: true }, texts: {} };
  const { help, json, store, blobs, config, ...input } = values as {
    help?: true;
    json?: true;
    store?: string;
    blobs?: string;
    config?: string;
  };
  if (help === true) {
    screen.print(explainCommand(command, screen));
    return 0;
  }
  if (command.ownsOutput !== true) reserveOutput(screen.isTerminal);
  const session = openSession(screen, {
    isJson: json === true,
    storeUrl: store,
    blobsUrl: blobs,
    configFile: config,
    runsConfig: command.runsConfig === true,
    texts,
  });
  try {
    return await command.execute(session, input);
  } catch (error) {
    throw await withStorePlace(session, error);
  }
}

/** Runs one command line; what it prints is all there is to see. @returns the exit code */
export async function runCommand(groups: CommandGroups, args: readonly string[]): Promise<number> {
  const screen = openScreen(process.env);
  try {
    return await execute(groups, args, screen);
  } catch (error) {
    return reportFailure(error, screen, args.includes('--json'));
  }
}
