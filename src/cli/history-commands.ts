/** The commands that show a history, in the order of the help: they stand among all commands, and among those that load no engine. */
import type { Command } from './command.ts';
import { bisectCommand } from './commands/bisect.ts';
import { blameCommand } from './commands/blame.ts';
import { postMortemCommand } from './commands/post-mortem.ts';
import { auditCommand } from './commands/audit.ts';
import { diffCommand } from './commands/diff.ts';
import { graphCommand } from './commands/graph.ts';
import { logCommand } from './commands/log.ts';
import { showCommand, stateCommand } from './commands/show.ts';

export const historyCommands: readonly Command[] = [
  logCommand,
  showCommand,
  stateCommand,
  diffCommand,
  blameCommand,
  bisectCommand,
  graphCommand,
  postMortemCommand,
  auditCommand,
];
