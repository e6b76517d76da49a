/** Splits an expression into tokens, and thereby finds its end (T1). It handles braces, strings, and references inside of strings. */

/** Why a text cannot be read, and the offset of the fault. */
export class TextError extends Error {
  readonly offset: number;
  readonly fix: string;
  constructor(offset: number, message: string, fix: string) {
    super(message);
    this.name = 'TextError';
    this.offset = offset;
    this.fix = fix;
  }
}

interface Place {
  /** Offsets in the text. */
  readonly start: number;
  readonly end: number;
}

/** A token of an expression. */
export type Token = Place &
  (
    | { readonly kind: 'word' | 'number' | 'string' | 'operator'; readonly text: string }
    /** Everything between two brackets. */
    | { readonly kind: 'group'; readonly open: '(' | '[' | '{'; readonly tokens: readonly Token[] }
    /** A `${…}` inside of an expression. */
    | { readonly kind: 'reference'; readonly tokens: readonly Token[] }
    /** A string literal with references. Its texts are as written between the quotes. */
    | { readonly kind: 'template'; readonly quote: string; readonly parts: readonly (string | readonly Token[])[] }
  );

/** The closing bracket by the opening one. */
export const closers = { '(': ')', '[': ']', '{': '}' } as const;
const maxDepth = 100;
const maxWords = 5000;

const space = /[ \t\r\n]+/y;
const word = /[A-Za-z_][A-Za-z0-9_]*/y;
const number = /0[xX][0-9a-fA-F]+[uU]?|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[uU]?/y;
const operator = /==|!=|<=|>=|&&|\|\||[<>+\-*/%!?:.,]/y;
const quoteMark = /([bB]|[rR]?)("""|'''|"|')/y;

const wrongSigns: readonly (readonly [RegExp, string, string])[] = [
  [/\/\//y, 'an expression has no comments and no //', 'remove it, or divide with /'],
  [/\*\*/y, '** is no operator', 'multiply with *'],
  [/&/y, 'a single & is no operator', 'write and'],
  [/=/y, 'a single = is no operator', 'compare with =='],
];

/** For filters that people write after `|`, the form to use here. */
const filterForms: Readonly<Record<string, string>> = {
  default: 'default(x, y)',
  length: 'size(x)',
  count: 'size(x)',
  tojson: 'json(x)',
  prettyjson: 'json(x, 2)',
  float: 'double(x)',
  join: "join(x, ', ')",
  replace: 'replace(x, a, b)',
  split: "split(x, ',')",
  ...Object.fromEntries(
    ['trim', 'lower', 'upper', 'string', 'int', 'abs', 'keys', 'values', 'fromjson', 'urlencode'].map((name) => [
      name,
      `${name}(x)`,
    ]),
  ),
};

/** The error for a `|`, which is not an operator here. It tells what was meant. */
function filterError(text: string, at: number): TextError {
  const [, name = ''] = /^\|\s*([A-Za-z_]\w*)/.exec(text.slice(at, at + 100)) ?? [];
  const form = Object.hasOwn(filterForms, name) ? filterForms[name] : undefined;
  const known = 'call a function of the value before the |: trim(x), default(x, y), …';
  return new TextError(
    at,
    'an expression has no filters',
    form === undefined ? known : `write ${form}, x being the value`,
  );
}

/** Reads one expression; `at` is the current offset. */
class Reader {
  readonly text: string;
  at: number;
  #depth = 0;
  #words = 0;

  constructor(text: string, at: number) {
    this.text = text;
    this.at = at;
  }

  #take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.text);
    if (match !== null) this.at += match[0].length;
    return match;
  }

  /** Reads tokens up to a closing bracket, which is not read, or to the end of the text. */
  tokens(closer: string | undefined, opened: number): Token[] {
    this.#depth += 1;
    if (this.#depth > maxDepth) {
      throw new TextError(opened, `an expression nested deeper than ${maxDepth}`, 'make it simpler');
    }
    const tokens: Token[] = [];
    for (;;) {
      this.#take(space);
      const sign = this.text[this.at];
      if (sign === undefined) {
        if (closer === undefined) break;
        throw new TextError(opened, `${this.#opening(opened)} is not closed`, `write ${closer} where it ends`);
      }
      if (sign === closer) break;
      this.#words += 1;
      if (this.#words > maxWords) {
        throw new TextError(opened, `an expression of more than ${maxWords} words`, 'make it simpler');
      }
      tokens.push(this.#token(sign));
    }
    this.#depth -= 1;
    return tokens;
  }

  #opening(opened: number): string {
    return this.text.startsWith('${', opened) ? '${' : (this.text[opened] ?? '');
  }

  #token(sign: string): Token {
    const start = this.at;
    if (this.text.startsWith('${', start)) return { kind: 'reference', start, ...this.reference() };
    if (sign === '(' || sign === '[' || sign === '{') {
      this.at += 1;
      const tokens = this.tokens(closers[sign], start);
      this.at += 1;
      return { kind: 'group', open: sign, tokens, start, end: this.at };
    }
    const quoted = this.#take(quoteMark);
    if (quoted !== null) return this.#string(start, quoted[1] ?? '', quoted[2] ?? '');
    for (const [kind, pattern] of [
      ['word', word],
      ['number', number],
    ] as const) {
      const match = this.#take(pattern);
      if (match !== null) return { kind, text: match[0], start, end: this.at };
    }
    if (sign === '|' && this.text[start + 1] !== '|') throw filterError(this.text, start);
    for (const [pattern, message, fix] of wrongSigns) {
      pattern.lastIndex = start;
      const isTwo = this.text[start + 1] === sign && '&|='.includes(sign);
      if (!isTwo && pattern.test(this.text)) throw new TextError(start, message, fix);
    }
    const match = this.#take(operator);
    if (match !== null) return { kind: 'operator', text: match[0], start, end: this.at };
    if (')]}'.includes(sign)) throw new TextError(start, `${sign} closes nothing`, 'remove it, or open it before');
    throw new TextError(start, `${JSON.stringify(sign)} is no part of an expression`, 'put text in quotes');
  }

  /** Reads the `${…}` at the current offset. */
  reference(): { readonly tokens: readonly Token[]; readonly end: number } {
    const opened = this.at;
    this.at += 2;
    const tokens = this.tokens('}', opened);
    this.at += 1;
    const [only, ...others] = tokens;
    const isBoth = only?.kind === 'group' && only.open === '{' && others.length === 0;
    if (
      isBoth &&
      only.start === opened + 2 &&
      !only.tokens.some((token) => token.kind === 'operator' && token.text === ':')
    ) {
      const fix = 'write ${ … }, with one brace';
      if (only.tokens.length > 0) throw new TextError(opened, '${{ … }} is the form of another system', fix);
    }
    if (tokens.length === 0)
      throw new TextError(opened, '${} names nothing', 'write a reference, or $${} for the text');
    return { tokens, end: this.at };
  }

  #string(start: number, prefix: string, quote: string): Token {
    const parts: (string | readonly Token[])[] = [];
    const isRaw = prefix.toLowerCase() === 'r';
    let plain = '';
    while (!this.text.startsWith(quote, this.at)) {
      const sign = this.text[this.at];
      if (sign === undefined || (sign === '\n' && quote.length === 1)) {
        throw new TextError(start, 'a string is not closed', `write ${quote} where it ends`);
      }
      if (this.text.startsWith('$${', this.at)) {
        plain += '${';
        this.at += 3;
      } else if (this.text.startsWith('${', this.at)) {
        parts.push(plain, this.reference().tokens);
        plain = '';
      } else {
        const length = sign === '\\' && !isRaw ? 2 : 1;
        plain += this.text.slice(this.at, this.at + length);
        this.at += length;
      }
    }
    this.at += quote.length;
    const end = this.at;
    if (parts.length === 0) return { kind: 'string', text: `${prefix}${quote}${plain}${quote}`, start, end };
    if (prefix.toLowerCase() === 'b') throw new TextError(start, 'bytes hold no references', 'remove the b');
    return { kind: 'template', quote: `${prefix}${quote}`, parts: [...parts, plain], start, end };
  }
}

/** The tokens of a text that is one expression. @throws TextError */
export function readExpression(text: string): readonly Token[] {
  return new Reader(text, 0).tokens(undefined, 0);
}

/** The tokens of the `${…}` at an offset of a text, and where it ends. @throws TextError */
export function readReference(
  text: string,
  offset: number,
): { readonly tokens: readonly Token[]; readonly end: number } {
  return new Reader(text, offset).reference();
}
