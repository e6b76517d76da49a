/** The commands that list what a store contains. They load nothing but the store. */
import { inboxCommand } from './commands/inbox.ts';
import { lsCommand } from './commands/ls.ts';
import { runCommand } from './run-command.ts';

export function runArguments(args: readonly string[]): Promise<number> {
  return runCommand([lsCommand, inboxCommand], args);
}
