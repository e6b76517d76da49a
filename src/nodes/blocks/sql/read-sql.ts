/**
 * Splits SQL text into statements: where each ends, what kind it is, and where its placeholders are. Strings, comments and quoted names are
 * skipped.
 */

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
