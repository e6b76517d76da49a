/** The program of the process in which Sql blocks use SQLite: a query cannot be stopped in the middle, but a process can. */
import { Worker } from 'node:worker_threads';
import type { FromChild, ToChild } from './sqlite-messages.ts';
import { runInTransaction } from './sqlite-transaction.ts';

/** Resolves when the message is on its way: what comes next may never end. */
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
// A terminal sends it to all its processes; the one that is in charge decides.
process.on('SIGINT', () => undefined);
// Whoever started this process may be killed while a query keeps it from hearing so.
const parent = Number(process.argv[2]);
const watch = `setInterval(() => { if (process.ppid !== ${parent}) process.kill(process.pid, 'SIGKILL'); }, 500);`;
new Worker(watch, { eval: true }).unref();
await say({ kind: 'up' });
