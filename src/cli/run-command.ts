/** From arguments to an exit code: finds the command, reads its arguments, executes it, tells what went wrong. */
import { missingStore } from '../app/place/open-reading.ts';
import { readVersion } from '../app/version.ts';
import { CairnError } from '../errors.ts';
import type { Command } from './command.ts';
import { reportFailure } from './failure.ts';
import { explainAll, explainCommand } from './help.ts';
import { nearest } from '../operations/declare/nearest.ts';
import { namesStore } from './note-none.ts';
import { parseArguments } from './parse.ts';
import { openScreen, type Screen } from './screen.ts';
import { openSession, type Session } from './session.ts';
import { splitCommand } from './split-command.ts';

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

async function execute(commands: readonly Command[], args: readonly string[], screen: Screen): Promise<number> {
  const { name, rest } = splitCommand(args);
  if (name === undefined && rest.includes('--version')) {
    screen.print(`cairn ${readVersion()}`);
    return 0;
  }
  const isHelp = name === undefined || name === 'help';
  const topic = name === 'help' ? rest.find((word) => !word.startsWith('-')) : undefined;
  if (isHelp && topic === undefined) {
    screen.print(explainAll(commands, screen));
    return name === undefined && rest.length === 0 ? 2 : 0;
  }
  const command = findCommand(commands, topic ?? name ?? '');
  const { values, texts } =
    topic === undefined ? parseArguments(command.fields, rest) : { values: { help: true }, texts: {} };
  const { help, json, store, config, ...input } = values as {
    help?: true;
    json?: true;
    store?: string;
    config?: string;
  };
  if (help === true) {
    screen.print(explainCommand(command, screen));
    return 0;
  }
  const session = openSession(screen, {
    isJson: json === true,
    storeUrl: store,
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
export async function runCommand(commands: readonly Command[], args: readonly string[]): Promise<number> {
  const screen = openScreen(process.env);
  try {
    return await execute(commands, args, screen);
  } catch (error) {
    return reportFailure(error, screen, args.includes('--json'));
  }
}
