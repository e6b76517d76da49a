/**
 * Loaded by `--import` into a worker that is measured: when the process ends, writes what it took into the file that `COUNT_INTO`
 * names. With `COUNT_STATEMENTS` also what it asked SQLite for, which costs CPU of its own.
 */
import { writeFileSync } from 'node:fs';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

const counted = { statements: 0, commits: 0 };

function count(sql) {
  counted.statements += 1;
  if (/^\s*(commit|end)\b/i.test(sql)) counted.commits += 1;
}

function countCalls(prototype, name, sqlOf) {
  const original = prototype[name];
  prototype[name] = function (...given) {
    count(sqlOf(this, given));
    return original.apply(this, given);
  };
}

if (isMainThread && process.env.COUNT_STATEMENTS !== undefined) {
  for (const name of ['run', 'get', 'all', 'iterate'])
    countCalls(StatementSync.prototype, name, (statement) => statement.sourceSQL);
  countCalls(DatabaseSync.prototype, 'exec', (_, [sql]) => sql);
}

if (isMainThread)
  process.on('exit', () => {
    const { user, system } = process.cpuUsage();
    writeFileSync(process.env.COUNT_INTO, JSON.stringify({ cpuMs: (user + system) / 1_000, ...counted }));
  });
