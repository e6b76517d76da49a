/** Raw mode of the Sql block: the file contains the statements. */
import { type Engine, type Statement, bindParams, type BoundStatement, type Params, readSql } from './sql-job.ts';
import type { InputFault, InputField, Inputs } from '../../../graph/contracts/node-type.ts';
import { literal, refuseInput } from '../block-options.ts';

// Classifies statements by their words.

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
function isRead({ words }: Statement): boolean {
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
function runsAlone({ words }: Statement, engine: Engine): boolean {
  const [first = '', second = ''] = words;
  if (first === 'VACUUM') return true;
  if (engine === 'sqlite') return first === 'PRAGMA';
  if (words.includes('CONCURRENTLY')) return true;
  return /^(CREATE|DROP) (DATABASE|TABLESPACE)$/u.test(`${first} ${second}`) || `${first} ${second}` === 'ALTER SYSTEM';
}

/** Why a block must not run a statement, and what to do instead; undefined if it may. */
function refusalOf(
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

export const rawFields: Readonly<Record<string, InputField>> = {
  sql: {
    schema: { type: 'string' },
    description: 'One statement, or several without params. Values belong into params.',
    ...literal,
  },
  params: {
    schema: { type: ['array', 'object'] },
    description: 'Values for `?`, `$1` or `%s` in their order, or for `:name` by name. They are always bound.',
    takesSecrets: true,
  },
};

/** The statements to run, and how. */
export interface SqlWork {
  readonly statements: readonly BoundStatement[];
  readonly isAlone: boolean;
  /** Decodes a value of a column. */
  readonly decode?: (column: string, value: unknown) => unknown;
}

/** Whether these statements certainly change nothing; false if that is unknown. */
export function isRawRead(sql: string, engine: Engine): boolean {
  try {
    const statements = readSql(sql, engine);
    return statements.length > 0 && statements.every(isRead);
  } catch {
    return false;
  }
}

/** Faults in the text of statements. */
export function sqlFaults(input: string, sql: string, engine: Engine): readonly InputFault[] {
  let statements: readonly Statement[];
  try {
    statements = readSql(sql, engine);
  } catch (error) {
    return [{ input, message: (error as Error).message, fix: 'close it' }];
  }
  if (statements.length === 0) return [{ input, message: 'it has no statement', fix: 'write one' }];
  const faults = statements.flatMap((statement) => {
    const refusal = refusalOf(statement, engine);
    return refusal === undefined ? [] : [{ input, ...refusal }];
  });
  const alone = statements.find((statement) => runsAlone(statement, engine));
  if (alone !== undefined && (statements.length > 1 || input === 'init_sql')) {
    const isPragma = alone.words[0] === 'PRAGMA';
    const fix = isPragma ? 'put it into sqlite_pragmas' : 'give it a block of its own';
    faults.push({ input, message: `${alone.words[0] ?? ''} runs outside of transactions only`, fix });
  }
  return faults;
}

/** Faults of statements together with their parameters, if these are known. */
export function rawFaults(sql: string, inputs: Inputs, engine: Engine): readonly InputFault[] {
  const faults = sqlFaults('sql', sql, engine);
  if (faults.length > 0 || inputs['params'] === undefined) return faults;
  try {
    bindAll(readSql(sql, engine), inputs['params'] as Params, engine);
    return [];
  } catch (error) {
    return [{ input: 'params', message: (error as Error).message, fix: 'give one value for each placeholder' }];
  }
}

function bindAll(
  statements: readonly Statement[],
  params: Params | undefined,
  engine: Engine,
): readonly BoundStatement[] {
  if (params !== undefined && statements.length > 1) throw new Error('only a single statement takes params');
  return statements.map((statement) => bindParams(statement, params, engine));
}

/** Turns the inputs into statements. @throws NodeFailure INPUT_INVALID */
export function readRawWork(sql: string, inputs: Inputs, engine: Engine): SqlWork {
  const statements = readSql(sql, engine);
  try {
    return {
      statements: bindAll(statements, inputs['params'] as Params | undefined, engine),
      isAlone: statements.some((statement) => runsAlone(statement, engine)),
    };
  } catch (error) {
    throw refuseInput('params', `does not fit sql: ${(error as Error).message}`);
  }
}
