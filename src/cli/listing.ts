/** The commands that list what a store contains, for shells too. They load nothing but the store. */
import { createCompletionCommand } from './commands/completion.ts';
import { inboxCommand } from './commands/inbox.ts';
import { lsCommand } from './commands/ls.ts';
import { workersCommand } from './commands/workers.ts';
import { runCommand } from './command-line.ts';

export function runArguments(args: readonly string[]): Promise<number> {
  return runCommand({ List: [lsCommand, workersCommand, inboxCommand, createCompletionCommand(() => [])] }, args);
}
