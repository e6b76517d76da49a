/** Tells when another connection, of this process or another, has written to the database. */
import type { DatabaseSync } from 'node:sqlite';

/** How often it looks, in ms. The look reads one number from shared memory. */
const lookEveryMs = 100;

/** Calls back when others have written. @returns a function that stops it */
export function watchFile(db: DatabaseSync, onWritten: () => void): () => void {
  const versionStatement = db.prepare('pragma data_version');
  const readVersion = (): unknown => versionStatement.get()?.['data_version'];
  let version = readVersion();
  const timer = setInterval(() => {
    try {
      const next = readVersion();
      if (next === version) return;
      version = next;
    } catch {
      // The store was closed, or cannot be read; whoever watches also polls, and is told why then.
      return clearInterval(timer);
    }
    onWritten();
  }, lookEveryMs);
  timer.unref();
  return () => clearInterval(timer);
}
