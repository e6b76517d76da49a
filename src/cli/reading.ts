/** The commands that read histories: no engine is loaded. */
import { bisectCommand } from './commands/bisect.ts';
import { blameCommand } from './commands/blame.ts';
import { diffCommand } from './commands/diff.ts';
import { doctorCommand } from './commands/doctor.ts';
import { graphCommand } from './commands/graph.ts';
import { logCommand } from './commands/log.ts';
import { postMortemCommand } from './commands/post-mortem.ts';
import { showCommand } from './commands/show.ts';
import { stateCommand } from './commands/state.ts';
import { verifyCommand } from './commands/verify.ts';
import { runCommand } from './run-command.ts';

export function runArguments(args: readonly string[]): Promise<number> {
  return runCommand(
    [
      logCommand,
      showCommand,
      stateCommand,
      diffCommand,
      blameCommand,
      bisectCommand,
      graphCommand,
      postMortemCommand,
      verifyCommand,
      doctorCommand,
    ],
    args,
  );
}
