/** What shells complete of a command line: the commands and options as they are declared. */
import type { Field } from '../../operations/declare/operation.ts';
import type { Command } from '../command.ts';
import { globalFields, optionNameOf } from '../parse.ts';

export interface CompletedOption {
  /** With its dashes. */
  readonly name: string;
  readonly description: string;
  readonly takesValue: boolean;
  /** What its value may be. Empty: anything, a file among it. */
  readonly choices: readonly string[];
}

export interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly CompletedOption[];
  /** What its words are: some fixed ones, or runs, or files. */
  readonly words: readonly string[] | 'runs' | 'files';
}

/** Fields in which a run or a checkpoint is named. */
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

/** The command that prints the runs there are, a line each: what shells ask where a run is to be named. */
export const listsRuns = 'cairn completion runs 2>/dev/null';

/** Commands by what their words are, those with fixed words left out. */
export function namesWith(commands: readonly CompletedCommand[], words: 'runs' | 'files'): readonly string[] {
  return commands.filter((command) => command.words === words).map(({ name }) => name);
}
