/** A file in which a process that lives long says now and then how it is, for whoever watches over it. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';

/** What is told. The time says whether anybody is there still: a process that hangs or has died writes no newer one. */
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

/** Written whole and then put in place, so that nobody reads a half; for its owner only. @throws what the file system says */
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
