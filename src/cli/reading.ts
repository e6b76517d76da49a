/** The commands that read histories: no engine is loaded. */
import { doctorCommand } from './commands/doctor.ts';
import { verifyCommand } from './commands/verify.ts';
import { historyCommands } from './history-commands.ts';
import { runCommand } from './command-line.ts';

export function runArguments(args: readonly string[]): Promise<number> {
  return runCommand({ Read: [...historyCommands, verifyCommand, doctorCommand] }, args);
}
