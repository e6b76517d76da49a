/** What the databases of Sql blocks share: the job, its result, and how it fails. */
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import { isPlainObject } from '../../../state/values/plain-object.ts';

// Splits SQL text into statements: where each ends, what kind it is, and where its placeholders are. Strings, comments and quoted names are
// skipped.

export type Engine = 'sqlite' | 'postgresql';

/** A placeholder: `?`, `?2` or `$2` (index 2), `%s`, or one with a name. */
export interface Mark {
  readonly kind: '?' | 'index' | '%s' | 'name';
  readonly index?: number;
  readonly name?: string;
  /** Offsets in the statement's text. */
  readonly start: number;
  readonly end: number;
}

export interface Statement {
  /** The text without the semicolon that ends it. */
  readonly text: string;
  /** Its words in upper case; unquoted names are among them. */
  readonly words: readonly string[];
  readonly marks: readonly Mark[];
}

interface Token {
  readonly kind: 'word' | 'mark' | 'semicolon' | 'other';
  readonly start: number;
  readonly end: number;
  readonly mark?: Omit<Mark, 'start' | 'end'>;
}

/** Matches what is skipped, by database: white space, comments, strings, quoted names. */
const skipped: Readonly<Record<Engine, RegExp>> = {
  sqlite: /\s+|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]/uy,
  postgresql: /\s+|--[^\n]*|[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"/uy,
};
/** Matches the start of a quoted piece that has no end. For SQLite the end of the text may end a comment. */
const opener: Readonly<Record<Engine, RegExp>> = { sqlite: /['"`[]/uy, postgresql: /[eE]?'|"/uy };
const word = /[\p{L}_][\p{L}\p{N}_$]*/uy;
const number = /\d[\p{L}\p{N}_.]*/uy;
const dollarQuote = /\$(?:[\p{L}_][\p{L}\p{N}_]*)?\$/uy;
const named = /:([A-Za-z_]\w*)|%\(([A-Za-z_]\w*)\)s/uy;
const namedInSqlite = /[@$]([A-Za-z_]\w*)/uy;

/** Splits a text. @throws Error a quote or a comment is not closed */
export function readSql(sql: string, engine: Engine): readonly Statement[] {
  const statements: Statement[] = [];
  let tokens: Token[] = [];
  let depth = 0;
  const finish = (): void => {
    if (tokens.length > 0) statements.push(statementOf(sql, tokens));
    tokens = [];
    depth = 0;
  };
  for (const token of readTokens(sql, engine)) {
    if (token.kind === 'word') depth += bodyStep(sql, tokens, token, depth);
    if (token.kind === 'semicolon' && depth === 0) finish();
    else tokens.push(token);
  }
  finish();
  return statements;
}

/** Change of nesting depth at a token. Bodies of triggers and functions contain statements between BEGIN (or CASE) and END. */
function bodyStep(sql: string, before: readonly Token[], token: Token, depth: number): number {
  const text = wordOf(sql, token);
  if (text !== 'BEGIN' && text !== 'CASE' && text !== 'END') return 0;
  const words = before.filter(({ kind }) => kind === 'word').map((each) => wordOf(sql, each));
  const hasBody =
    words[0] === 'CREATE' && words.slice(1, 5).some((each) => /^(TRIGGER|FUNCTION|PROCEDURE)$/u.test(each));
  if (!hasBody) return 0;
  if (text === 'END') return depth > 0 ? -1 : 0;
  return text === 'BEGIN' || depth > 0 ? 1 : 0;
}

function statementOf(sql: string, tokens: readonly Token[]): Statement {
  const start = tokens[0]?.start ?? 0;
  const end = tokens.at(-1)?.end ?? start;
  return {
    text: sql.slice(start, end),
    words: tokens.filter(({ kind }) => kind === 'word').map((token) => wordOf(sql, token)),
    marks: tokens.flatMap(({ mark, ...token }) =>
      mark === undefined ? [] : [{ ...mark, start: token.start - start, end: token.end - start }],
    ),
  };
}

const wordOf = (sql: string, { start, end }: Token): string => sql.slice(start, end).toUpperCase();

function* readTokens(sql: string, engine: Engine): Generator<Token> {
  let at = 0;
  while (at < sql.length) {
    const past = skip(sql, at, engine);
    if (past > at) {
      // Strings are part of a statement; white space and comments are not.
      if (/['"`[$eE]/u.test(sql[at] ?? '')) yield { kind: 'other', start: at, end: past };
      at = past;
      continue;
    }
    const token = tokenAt(sql, at, engine);
    yield token;
    at = token.end;
  }
}

function tokenAt(sql: string, start: number, engine: Engine): Token {
  const matched = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = start;
    return pattern.exec(sql);
  };
  const end = (found: RegExpExecArray): number => start + found[0].length;
  const found = matched(word);
  if (found !== null) return { kind: 'word', start, end: end(found) };
  const digits = matched(number);
  if (digits !== null) return { kind: 'other', start, end: end(digits) };
  // In Postgres, `a::b` casts and `a[lo:hi]` slices.
  const isOperator = sql[start] === ':' && /[\w:\])]/u.test(sql[start - 1] ?? '');
  const name = (isOperator ? null : matched(named)) ?? (engine === 'sqlite' ? matched(namedInSqlite) : null);
  if (name !== null)
    return { kind: 'mark', start, end: end(name), mark: { kind: 'name', name: name[1] ?? name[2] ?? '' } };
  const index = matched(engine === 'sqlite' ? /[$?](\d+)/uy : /\$(\d+)/uy);
  if (index !== null) return { kind: 'mark', start, end: end(index), mark: { kind: 'index', index: Number(index[1]) } };
  if (sql[start] === '?') return { kind: 'mark', start, end: start + 1, mark: { kind: '?' } };
  if (matched(/%s(?!\w)/uy) !== null) return { kind: 'mark', start, end: start + 2, mark: { kind: '%s' } };
  return { kind: sql[start] === ';' ? 'semicolon' : 'other', start, end: start + 1 };
}

/** The end of the skipped piece that begins here; `at` if none begins. @throws Error the piece is not closed */
function skip(sql: string, at: number, engine: Engine): number {
  if (engine === 'postgresql') {
    if (sql.startsWith('/*', at)) return skipNested(sql, at);
    dollarQuote.lastIndex = at;
    const tag = dollarQuote.exec(sql)?.[0];
    if (tag !== undefined) {
      const close = sql.indexOf(tag, at + tag.length);
      return close < 0 ? unclosed(sql, at) : close + tag.length;
    }
  }
  const closed = skipped[engine];
  closed.lastIndex = at;
  const found = closed.exec(sql);
  if (found !== null) return at + found[0].length;
  const opened = opener[engine];
  opened.lastIndex = at;
  return opened.test(sql) ? unclosed(sql, at) : at;
}

function skipNested(sql: string, at: number): number {
  let depth = 0;
  for (const { 0: text, index } of sql.slice(at).matchAll(/\/\*|\*\//gu)) {
    depth += text === '/*' ? 1 : -1;
    if (depth === 0) return at + index + 2;
  }
  return unclosed(sql, at);
}

function unclosed(sql: string, at: number): never {
  throw new Error(`what begins with ${JSON.stringify(sql.slice(at, at + 12))} at offset ${at} is not closed`);
}

// Converts parameters to the form that each database expects. Values are bound, never written into the statement.

export interface BoundStatement extends Statement {
  /** For SQLite in the order of the `?` marks, for Postgres in that of `$1`, `$2` … */
  readonly values: readonly unknown[];
}

export type Params = readonly unknown[] | Readonly<Record<string, unknown>>;

/** Binds the parameters of a statement. @throws Error placeholders and parameters do not match */
export function bindParams(statement: Statement, params: Params | undefined, engine: Engine): BoundStatement {
  if (params === undefined) return withoutParams(statement, engine);
  return Array.isArray(params)
    ? bindList(statement, params as readonly unknown[], engine)
    : bindNamed(statement, params as Readonly<Record<string, unknown>>, engine);
}

/**
 * A statement without parameters. SQLite would silently bind NULL to its placeholders, so they are refused. In Postgres `?` and `%` are
 * operators, and Postgres itself reports missing values.
 */
function withoutParams(statement: Statement, engine: Engine): BoundStatement {
  const lacks = statement.marks.some(({ kind }) => kind !== '%s' && engine === 'sqlite');
  if (lacks) throw new Error('it has placeholders, and there are no params');
  return { ...statement, values: [] };
}

function bindList(statement: Statement, params: readonly unknown[], engine: Engine): BoundStatement {
  const of = (wanted: Mark['kind']): readonly Mark[] => statement.marks.filter(({ kind }) => kind === wanted);
  const [byIndex, questions, percents, names] = [of('index'), of('?'), of('%s'), of('name')];
  if (byIndex.length > 0) {
    if (engine === 'sqlite' && questions.length + percents.length > 0) throw mixed();
    const used = new Set(byIndex.map(({ index = 0 }) => index));
    for (let index = 1; index <= Math.max(params.length, ...used); index += 1)
      if (!used.has(index) || index > params.length) throw countFault(Math.max(...used), params.length);
    return write(statement, byIndex, engine, ({ index = 0 }) => index - 1, params);
  }
  if (engine === 'sqlite' && questions.length > 0 && percents.length > 0) throw mixed();
  // In a statement with `%s` marks, a `?` is an operator of Postgres.
  const marks = percents.length > 0 ? percents : questions;
  if (marks.length === 0 && params.length > 0 && names.length > 0)
    throw new Error('its placeholders have names: give params as a mapping');
  if (marks.length !== params.length) throw countFault(marks.length, params.length);
  return write(statement, marks, engine, (mark) => marks.indexOf(mark), params);
}

function bindNamed(statement: Statement, params: Readonly<Record<string, unknown>>, engine: Engine): BoundStatement {
  const names = Object.keys(params);
  const marks = statement.marks.filter(({ kind }) => kind === 'name');
  const absent = marks.find(({ name = '' }) => !Object.hasOwn(params, name));
  if (absent !== undefined) throw new Error(`params has no ${absent.name}`);
  const unused = names.find((name) => !marks.some((mark) => mark.name === name));
  if (unused !== undefined) throw new Error(`it has no placeholder :${unused}`);
  return write(statement, marks, engine, ({ name = '' }) => names.indexOf(name), Object.values(params));
}

/** Replaces the author's placeholders by those of the database. */
function write(
  statement: Statement,
  marks: readonly Mark[],
  engine: Engine,
  placeOf: (mark: Mark) => number,
  params: readonly unknown[],
): BoundStatement {
  let text = '';
  let at = 0;
  for (const mark of marks) {
    text += `${statement.text.slice(at, mark.start)}${engine === 'sqlite' ? '?' : `$${placeOf(mark) + 1}`}`;
    at = mark.end;
  }
  text += statement.text.slice(at);
  const values = engine === 'sqlite' ? marks.map((mark) => params[placeOf(mark)]) : params;
  return { ...statement, text, values };
}

const mixed = (): Error => new Error('it mixes placeholders of several kinds');
const countFault = (wanted: number, found: number): Error =>
  new Error(`it has placeholders for ${wanted} values, and params has ${found}`);

export interface SqlJob {
  /** Statements to run first; their results are dropped. */
  readonly first: readonly BoundStatement[];
  readonly statements: readonly BoundStatement[];
  /** Whether nothing may change. The database enforces it. */
  readonly isReadOnly: boolean;
  /** Whether the only statement cannot run in a transaction. */
  readonly isAlone: boolean;
  /** Time limit for waiting for locks, and for each statement, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface SqlResult {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly affected: number;
  readonly lastInsertId: number | bigint | null;
}

export const noResult: SqlResult = { columns: [], rows: [], affected: 0, lastInsertId: null };

/** Combines the results of several statements: the last rows, and the sum of all changes. */
export function joinResults(results: readonly SqlResult[]): SqlResult {
  const last = results.findLast(({ columns }) => columns.length > 0) ?? noResult;
  const inserted = results.findLast(({ lastInsertId }) => lastInsertId !== null);
  return {
    columns: last.columns,
    rows: last.rows,
    affected: results.reduce((sum, { affected }) => sum + affected, 0),
    lastInsertId: inserted?.lastInsertId ?? null,
  };
}

/** Column names that can be keys of one object. @throws Error two are the same */
export function distinct(columns: readonly string[]): readonly string[] {
  const twice = columns.find((column, index) => columns.indexOf(column) !== index);
  if (twice === undefined) return columns;
  throw new Error(`two columns are called ${twice}: give one of them another name with AS`);
}

/** Rows as objects. */
export function rowObjects(
  { columns, rows }: SqlResult,
  decode: (column: string, value: unknown) => unknown,
): readonly Readonly<Record<string, unknown>>[] {
  return rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, decode(column, row[index])])));
}

export interface SqlFailureFacts {
  /** SQL_UNAVAILABLE if the failure may be temporary. */
  readonly code: 'SQL_FAILED' | 'SQL_UNAVAILABLE';
  readonly applied: 'no' | 'unknown';
  readonly data: Readonly<Record<string, unknown>>;
}

export function sqlFailure(reason: string, facts: SqlFailureFacts, cause: unknown): NodeFailure {
  return new NodeFailure(reason, { ...facts, cause });
}

/** An integer as a number if that is exact, else as a bigint. */
export function exactInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** A list or object as a parameter. @throws Error it contains what JSON cannot express */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => {
    if (
      typeof item === 'bigint' ||
      (typeof item === 'object' && item !== null && !Array.isArray(item) && !isPlainObject(item))
    )
      throw new Error(`a parameter holds a ${item.constructor.name}, which JSON cannot say`);
    return item;
  });
}
