/** A file in which a long-lived process reports its health periodically, for whoever monitors it. */
import { writeOwnFile } from './own-file.ts';

/** What is reported. The time shows whether the process is alive: one that hangs or is dead does not update it. */
export interface Health {
  readonly status: 'working' | 'draining' | 'stopped';
  /** Ids of the runs that are advanced now. */
  readonly runs: readonly string[];
  /** The newest failure, with its time; absent: there was none. */
  readonly lastError?: {
    readonly at: string;
    readonly runId?: string;
    readonly code: string;
    readonly message: string;
  };
}

/** Writes the file atomically, readable by its owner only. @throws USAGE_INVALID */
export function writeHealth(file: string, health: Health): void {
  const text = JSON.stringify({ at: new Date().toISOString(), pid: process.pid, ...health });
  writeOwnFile(process.cwd(), file, `${text}\n`);
}
