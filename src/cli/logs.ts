/** The log of a command that works until it is stopped: where its lines go, and which. */
import { isatty } from 'node:tty';
import { createLineLog, logThresholds, logWarnings, type Log, type LogThreshold } from '../app/log/line-log.ts';
import type { Field } from '../operations/contract/operation.ts';
import type { Session } from './session.ts';

export const logLevelField: Field = {
  type: 'text',
  description: 'log events of this level and above; default info',
  choices: logThresholds,
};

/**
 * Opens the log: a line of JSON for each event, and a plain one in a terminal. What the process warns of goes there too.
 * @param descriptor - 2 for commands whose standard output says something else
 */
export function openLog({ screen, isJson, cwd }: Session, descriptor: 1 | 2, level?: LogThreshold): Log {
  const isTerminal = descriptor === 1 ? screen.isTerminal : isatty(2);
  const write = descriptor === 1 ? screen.print : screen.note;
  const log = createLineLog({ write: (line) => write(line), level, isPlain: isTerminal && !isJson, cwd });
  logWarnings(log);
  return log;
}
