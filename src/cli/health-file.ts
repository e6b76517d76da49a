/** A file in which a long-lived process reports its health periodically, for whoever monitors it. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';

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

/** Writes the file atomically, readable by its owner only. @throws the errors of the file system */
export function writeHealth(file: string, health: Health): void {
  const part = `${file}.${process.pid}.part`;
  try {
    writeFileSync(part, `${JSON.stringify({ at: new Date().toISOString(), pid: process.pid, ...health })}\n`, {
      mode: 0o600,
    });
    renameSync(part, file);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}
