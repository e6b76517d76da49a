/** The commands that read histories: no engine is loaded. */
import { blameCommand } from './commands/blame.ts';
import { diffCommand } from './commands/diff.ts';
import { logCommand } from './commands/log.ts';
import { showCommand } from './commands/show.ts';
import { stateCommand } from './commands/state.ts';
import { runCommand } from './run-command.ts';

export function runArguments(args: readonly string[]): Promise<number> {
  return runCommand([logCommand, showCommand, stateCommand, diffCommand, blameCommand], args);
}
