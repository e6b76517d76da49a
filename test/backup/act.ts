/**
 * Backs a store up or restores it, and is killed after the n-th call that changes something outside: node act.ts backup|restore FROM TO N.
 * Without N it lives, and prints how many calls there were.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync, StatementSync } from 'node:sqlite';

const [, , what, from = '', to = '', last] = process.argv;
let calls = 0;

function count(): void {
  calls += 1;
  if (calls === Number(last)) process.kill(process.pid, 'SIGKILL');
}

type Call = (this: unknown, ...args: unknown[]) => unknown;

/** What changes nothing is let be. */
function watch(owner: object, names: readonly string[]): void {
  const methods = owner as Record<string, Call>;
  for (const name of names) {
    const original = methods[name]!;
    methods[name] = function watched(this: unknown, ...args) {
      const reply = original.apply(this, args);
      if (reply instanceof Promise) return reply.then((value: unknown) => (count(), value));
      count();
      return reply;
    };
  }
}

// From here on: loading the modules opens files, too.
const { backUp, restore } = await import('../../src/store.ts');
watch(fs.promises, ['open', 'rename', 'rm', 'copyFile', 'chmod', 'mkdir', 'utimes']);
watch(fs, ['openSync', 'closeSync', 'mkdirSync']);
watch(DatabaseSync.prototype, ['exec', 'close']);
watch(StatementSync.prototype, ['run']);
syncBuiltinESMExports();

if (what === 'backup') await backUp(from, to);
else await restore(from, to);
console.log(calls);
