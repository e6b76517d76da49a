/** Classifies statements by their words. */
import type { Engine, Statement } from './read-sql.ts';

const readers = new Set(['SELECT', 'VALUES', 'TABLE', 'WITH', 'EXPLAIN', 'SHOW']);
const changers = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE', 'INTO', 'CALL', 'DO', 'CREATE', 'EXECUTE']);
const ofTransactions = new Set([
  'BEGIN',
  'START',
  'COMMIT',
  'END',
  'ROLLBACK',
  'ABORT',
  'SAVEPOINT',
  'RELEASE',
  'PREPARE',
]);

/** Whether a statement only reads, whatever the data. If it is not known to be a read, it counts as a change. */
export function isRead({ words }: Statement): boolean {
  if (!readers.has(words[0] ?? '') || words.some((word) => changers.has(word))) return false;
  // Locking rows needs a transaction that may change them.
  return !words.some((word, index) => word === 'FOR' && /^(SHARE|KEY|NO)$/u.test(words[index + 1] ?? ''));
}

/** Whether it inserts, updates or deletes rows, so that it reports a count of changed rows. */
export function changesRows({ words }: Statement): boolean {
  const dml = (word: string | undefined): boolean => /^(INSERT|REPLACE|UPDATE|DELETE|MERGE)$/u.test(word ?? '');
  return dml(words[0]) || (words[0] === 'WITH' && words.some(dml));
}

/** Whether it can only run outside of a transaction. */
export function runsAlone({ words }: Statement, engine: Engine): boolean {
  const [first = '', second = ''] = words;
  if (first === 'VACUUM') return true;
  if (engine === 'sqlite') return first === 'PRAGMA';
  if (words.includes('CONCURRENTLY')) return true;
  return /^(CREATE|DROP) (DATABASE|TABLESPACE)$/u.test(`${first} ${second}`) || `${first} ${second}` === 'ALTER SYSTEM';
}

/** Why a block must not run a statement, and what to do instead; undefined if it may. */
export function refusalOf(
  statement: Statement,
  engine: Engine,
): { readonly message: string; readonly fix: string } | undefined {
  const { words } = statement;
  const [first = '', second = ''] = words;
  if (ofTransactions.has(first) && !(first === 'PREPARE' && second !== 'TRANSACTION'))
    return { message: `${first} is not for a block`, fix: 'leave it out: a block is one transaction' };
  if (engine === 'sqlite' && (first === 'ATTACH' || (first === 'VACUUM' && words.includes('INTO'))))
    return { message: `${first} reaches another file`, fix: 'name that file as the path of another block' };
  if (engine === 'sqlite' && first === 'PRAGMA') return pragmaRefusal(statement);
  if (engine === 'postgresql' && first === 'COPY' && words.some((word) => word === 'STDIN' || word === 'STDOUT'))
    return { message: 'COPY has nothing to read from or write to', fix: 'use INSERT or SELECT' };
  return undefined;
}

/** SQLite settings that affect the whole process, and with it Cairn's own store, and not only a connection or a file. */
const ofProcess = new Set(['temp_store_directory', 'data_store_directory', 'soft_heap_limit', 'hard_heap_limit']);

/** Refuses some PRAGMA statements. A name in quotes or after a comment cannot be read reliably, so that is refused too. */
function pragmaRefusal({ text }: Statement): ReturnType<typeof refusalOf> {
  const name = /^PRAGMA\s+(?:\w+\s*\.\s*)?(\w+)\s*(?:[=(]|$)/iu.exec(text)?.[1]?.toLowerCase();
  if (name === undefined)
    return { message: 'PRAGMA is not followed by a plain name', fix: 'write the name without quotes and comments' };
  if (ofProcess.has(name)) return { message: `PRAGMA ${name} reaches beyond the database`, fix: 'leave it out' };
  return undefined;
}
