/** Splits an expression between `{{ }}` or inside `{% %}` into tokens, up to the closing sign. */
import { TextError } from '../expression/tokens.ts';

/** A token. The `text` of a string is its value, without quotes and escapes. */
export interface BraceToken {
  readonly kind: 'name' | 'number' | 'string' | 'operator';
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

export interface BraceWords {
  readonly tokens: readonly BraceToken[];
  /** Offset after the closing sign. */
  readonly end: number;
  /** Whether a dash before the closing sign removes the space after it. */
  readonly trimsAfter: boolean;
}

const space = /[ \t\r\n]+/y;
const name = /[A-Za-z_][A-Za-z0-9_]*/y;
const number = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const string = /'(?:[^'\\]|\\[^])*'|"(?:[^"\\]|\\[^])*"/y;
const operator = /==|!=|<=|>=|\/\/|\*\*|[<>+\-*/%~|.,:()[\]{}=]/y;
const wordsMax = 2000;

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '\n': '',
};

/** The value of a string. A backslash before a character that needs none stays. */
function unescape(written: string): string {
  return written.slice(1, -1).replaceAll(/\\([^])/g, (whole, sign: string) => escapes[sign] ?? whole);
}

/** Reads tokens from an offset on. @throws TextError */
export function readBraceWords(text: string, from: number, closer: '}}' | '%}'): BraceWords {
  const tokens: BraceToken[] = [];
  let at = from;
  /** Number of open brackets: `}}` may close two of them. */
  let depth = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const taken = pattern.exec(text)?.[0];
    at += taken?.length ?? 0;
    return taken;
  };
  for (;;) {
    take(space);
    const start = at;
    if (depth === 0 && text.startsWith(`-${closer}`, at))
      return { tokens, end: at + closer.length + 1, trimsAfter: true };
    if (depth === 0 && text.startsWith(closer, at)) return { tokens, end: at + closer.length, trimsAfter: false };
    if (at >= text.length || tokens.length > wordsMax) {
      const open = closer === '}}' ? '{{' : '{%';
      throw new TextError(from, `${open} is not closed`, `write ${closer} where it ends`);
    }
    const quoted = take(string);
    if (quoted !== undefined) tokens.push({ kind: 'string', text: unescape(quoted), start, end: at });
    else {
      const word = take(name);
      const digits = word === undefined ? take(number) : undefined;
      const sign = word === undefined && digits === undefined ? take(operator) : undefined;
      const found = word ?? digits ?? sign;
      if (found === undefined)
        throw new TextError(at, `${JSON.stringify(text[at])} is no part of an expression`, 'put text in quotes');
      if ('([{'.includes(found)) depth += 1;
      else if (')]}'.includes(found)) depth -= 1;
      const kind = word !== undefined ? 'name' : digits !== undefined ? 'number' : 'operator';
      tokens.push({ kind, text: found, start, end: at });
    }
  }
}
