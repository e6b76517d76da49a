/** What shells can complete of a command line, taken from the declared commands and options. */
import type { Field } from '../../operations/declare/operation.ts';
import type { Command } from '../command.ts';
import { globalFields, optionNameOf } from '../parse.ts';

export interface CompletedOption {
  /** With leading dashes. */
  readonly name: string;
  readonly description: string;
  readonly takesValue: boolean;
  /** Possible values; empty if anything is possible, files included. */
  readonly choices: readonly string[];
}

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  /** What its positional arguments are: fixed words, runs, or files. */
  readonly words: readonly string[] | 'runs' | 'files';
}

/** Fields that name a run or a checkpoint. */
const runFields: readonly string[] = ['run', 'checkpoint', 'a', 'b'];

function completedOption([field, { type, description, choices = [] }]: readonly [string, Field]): CompletedOption {
  return { name: `--${optionNameOf(field)}`, description, takesValue: type !== 'flag', choices };
}

function completedCommand({ name, summary, fields }: Command): CompletedCommand {
  const first = Object.entries(fields).find(([, { isPositional }]) => isPositional === true);
  const options = Object.entries({ ...fields, ...globalFields }).filter(
    ([, { isPositional }]) => isPositional !== true,
  );
  const isRun = first !== undefined && runFields.includes(first[0]);
  const words = first?.[1].choices ?? (isRun ? 'runs' : 'files');
  return { name, summary, options: options.map(completedOption), words };
}

export function completedCommands(commands: readonly Command[]): readonly CompletedCommand[] {
  return commands.map(completedCommand);
}

/** Command that prints the runs, one per line. Shells call it to complete the name of a run. */
export const listsRuns = 'cairn completion runs 2>/dev/null';

/** Names of the commands whose positional arguments are of this kind. */
export function namesWith(commands: readonly CompletedCommand[], words: 'runs' | 'files'): readonly string[] {
  return commands.filter((command) => command.words === words).map(({ name }) => name);
}
