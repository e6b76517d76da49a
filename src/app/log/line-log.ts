/** The log as lines: one of JSON for each event, with the fields of pino, or a plain one for people. */
import { CairnError } from '../../errors.ts';
import type { Log, LogFields, LogLevel } from '../../ports/log.ts';
import { jsonText, printable } from '../../operations/format/terminal.ts';

export type { Log, LogFields, LoggedError, LogLevel } from '../../ports/log.ts';

/** What is logged: events of this level and above; `silent`: none. */
export type LogThreshold = LogLevel | 'silent';

export const logThresholds: readonly LogThreshold[] = ['debug', 'info', 'warn', 'error', 'silent'];

/** The numbers that pino gives to levels. */
const numbers: Readonly<Record<LogThreshold, number>> = { debug: 20, info: 30, warn: 40, error: 50, silent: Infinity };

export interface LineLogOptions {
  /** Takes each line, without its end. */
  readonly write: (line: string) => void;
  /** Default `info`. */
  readonly level?: LogThreshold | undefined;
  /** Whether a person reads it. */
  readonly isPlain: boolean;
  /** The folder below which paths are shortened for people. */
  readonly cwd?: string;
}

/** Makes a log of lines. */
export function createLineLog({ write, level = 'info', isPlain, cwd }: LineLogOptions): Log {
  const at =
    (of: LogLevel) =>
    (fields: LogFields, msg: string): void => {
      if (numbers[of] >= numbers[level]) write(isPlain ? plainLine(fields, msg, cwd) : jsonLine(of, fields, msg));
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function jsonLine(level: LogLevel, fields: LogFields, msg: string): string {
  return jsonText({ level: numbers[level], time: Date.now(), msg, ...fields });
}

/** `failed     r1  charge: card refused at charge (pay.ts:9:11)`, and what to do next, if that is known; what is about no run is that alone. */
function plainLine({ event, run, err }: LogFields, msg: string, cwd: string | undefined): string {
  const said = err?.hint === undefined ? msg : `${msg} ${err.hint}`;
  const text = printable(cwd === undefined || cwd === '/' ? said : said.replaceAll(`${cwd}/`, ''));
  if (run === undefined) return text;
  return `${event.padEnd(9)}  ${printable(run)}${msg === event ? '' : `  ${text}`}`;
}

/** From now on, what this process warns of goes to a log. @returns a function that ends it */
export function logWarnings(log: Log): () => void {
  const before = process.listeners('warning');
  process.removeAllListeners('warning');
  const take = (warning: Error & { readonly code?: string; readonly detail?: string }): void => {
    const { name, code, message, detail } = warning;
    log.warn(
      { event: 'warning', ...(code !== undefined && { code }), ...(detail !== undefined && { detail }) },
      [...(code === undefined ? [name] : [`[${code}]`]), message].join(' '),
    );
  };
  process.on('warning', take);
  return () => {
    process.off('warning', take);
    for (const listener of before) process.on('warning', listener);
  };
}

/** Logs an error that is no event of a run. */
export function logFault(log: Log, event: string, thrown: unknown): void {
  const { name, code, message, hint } = CairnError.from(thrown);
  log.error({ event, err: { type: name, code, message, hint } }, `${message} [${code}]`);
}
