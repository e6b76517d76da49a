/** What statements do, as far as their words tell. */
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

/** Nothing but reads, whatever the data. What is not known to be a read counts as a change. */
export function isRead({ words }: Statement): boolean {
  if (!readers.has(words[0] ?? '') || words.some((word) => changers.has(word))) return false;
  // A row that is locked for a change can only be locked by a transaction that may change it.
  return !words.some((word, index) => word === 'FOR' && /^(SHARE|KEY|NO)$/u.test(words[index + 1] ?? ''));
}

/** It inserts, updates or deletes rows, and so counts them. */
export function changesRows({ words }: Statement): boolean {
  const dml = (word: string | undefined): boolean => /^(INSERT|REPLACE|UPDATE|DELETE|MERGE)$/u.test(word ?? '');
  return dml(words[0]) || (words[0] === 'WITH' && words.some(dml));
}

/** It can only run outside a transaction. */
export function runsAlone({ words }: Statement, engine: Engine): boolean {
  const [first = '', second = ''] = words;
  if (first === 'VACUUM') return true;
  if (engine === 'sqlite') return first === 'PRAGMA';
  if (words.includes('CONCURRENTLY')) return true;
  return /^(CREATE|DROP) (DATABASE|TABLESPACE)$/u.test(`${first} ${second}`) || `${first} ${second}` === 'ALTER SYSTEM';
}

/** Why a block does not run a statement, and what to do instead. */
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

/** Settings of the whole process, Cairn's own store included, rather than of a connection or a file. */
const ofProcess = new Set(['temp_store_directory', 'data_store_directory', 'soft_heap_limit', 'hard_heap_limit']);

/** The name must be there to be read: in quotes, or behind a comment, it could be any. */
function pragmaRefusal({ text }: Statement): ReturnType<typeof refusalOf> {
  const name = /^PRAGMA\s+(?:\w+\s*\.\s*)?(\w+)\s*(?:[=(]|$)/iu.exec(text)?.[1]?.toLowerCase();
  if (name === undefined)
    return { message: 'PRAGMA is not followed by a plain name', fix: 'write the name without quotes and comments' };
  if (ofProcess.has(name)) return { message: `PRAGMA ${name} reaches beyond the database`, fix: 'leave it out' };
  return undefined;
}
