/**
 * The program of the child process in which Sql blocks use SQLite. A query cannot be stopped in the middle, but a process can be killed.
 */
import { Worker } from 'node:worker_threads';
import { type FromChild, type ToChild, runInTransaction } from './sqlite-transaction.ts';

/** Sends a message and resolves when it was sent. What follows may block this process for any time. */
function say(message: FromChild): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, () => resolve());
  });
}

let commit: () => void = () => undefined;

process.on('message', (message: ToChild) => {
  if (message.kind === 'commit') commit();
  else {
    const mayCommit = new Promise<void>((resolve) => {
      commit = resolve;
    });
    const steps = {
      begun: () => say({ kind: 'begun' }),
      mayCommit: () => say({ kind: 'ready' }).then(() => mayCommit),
    };
    runInTransaction(message.place, message.job, steps).then(
      (result) => say({ kind: 'result', result }),
      (failure: unknown) => say({ kind: 'failure', failure: failure as never }),
    );
  }
});
process.on('disconnect', () => process.exit());
// A terminal sends SIGINT to all its processes. The parent decides what to do.
process.on('SIGINT', () => undefined);
// A thread checks whether the parent is dead, because a long query blocks the main thread.
const parent = Number(process.argv[2]);
const watch = `setInterval(() => { if (process.ppid !== ${parent}) process.kill(process.pid, 'SIGKILL'); }, 500);`;
new Worker(watch, { eval: true }).unref();
await say({ kind: 'up' });
