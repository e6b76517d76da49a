/** A log that keeps what it is told. */
import type { Log, LogFields, LogLevel } from '../../src/ports/log.ts';

export interface LoggedEvent extends LogFields {
  readonly level: LogLevel;
  readonly msg: string;
}

export function recordLog(): { readonly log: Log; readonly events: LoggedEvent[] } {
  const events: LoggedEvent[] = [];
  const at =
    (level: LogLevel) =>
    (fields: LogFields, msg: string): void =>
      void events.push({ level, msg, ...fields });
  return { log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }, events };
}
