/** The commands that list what a store contains, for shells too. They load nothing but the store. */
import { createCompletionCommand, inboxCommand, lsCommand, workersCommand } from './commands/listings.ts';
import { runCommand } from './command-line.ts';

export function runArguments(args: readonly string[]): Promise<number> {
  return runCommand({ List: [lsCommand, workersCommand, inboxCommand, createCompletionCommand(() => [])] }, args);
}
