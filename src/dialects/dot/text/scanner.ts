/** The scanner of DOT files: splits the text into strings, names, values and marks, and collects comments. Looks at each character once. */
import type { DotFaults } from './faults.ts';

/** A word of a DOT file. `mark` is punctuation. `broken` is text that can be no word, and has been reported. */
export interface Word {
  readonly kind: 'name' | 'string' | 'mark' | 'broken' | 'end';
  /** The text of the word. Strings are without quotes, and their escapes are resolved. */
  readonly text: string;
  readonly at: number;
  readonly end: number;
  /** Whether a line break comes before it. */
  readonly isOnNewLine: boolean;
}

const space = /[\s\uFEFF]*/y;
/** Unquoted values: names, numbers, durations, and names with dots, colons and dashes. */
const bareWord = /-?[\p{L}\p{N}_.:](?:[\p{L}\p{N}_.:]|-(?!>))*/uy;
const stringPiece = /[^"\\]*/y;
const junk = /[^\s\p{L}\p{N}_.:"[\]{};,=+<>/#-]+|[^]/uy;

const escapes: Readonly<Record<string, string>> = { '"': '"', n: '\n', t: '\t', '\\': '\\', '\n': '', '\r\n': '' };

const none: readonly never[] = [];

export class Scanner {
  readonly #text: string;
  readonly #faults: DotFaults;
  readonly #hasReturns: boolean;
  #at = 0;
  #comments: { readonly text: string; readonly at: number; readonly isOnNewLine: boolean }[] = [];

  constructor(text: string, faults: DotFaults) {
    this.#text = text;
    this.#faults = faults;
    this.#hasReturns = text.includes('\r\n');
  }

  /** Takes the comments that begin before an offset or stand on its line, with their comment marks. Each is returned once. */
  takeComments(before: number = this.#text.length): readonly string[] {
    if (this.#comments.length === 0) return none;
    const next = this.#comments.findIndex(({ at, isOnNewLine }) => at >= before && isOnNewLine);
    const taken = this.#comments.splice(0, next < 0 ? this.#comments.length : next);
    return taken.map(({ text }) => text);
  }

  next(): Word {
    const isOnNewLine = this.#skipSpace();
    const at = this.#at;
    const word = (kind: Word['kind'], text: string, end: number): Word => {
      this.#at = end;
      return { kind, text, at, end, isOnNewLine };
    };
    if (at >= this.#text.length) return word('end', 'the end of the file', at);
    if (this.#text[at] === '"') return this.#string(isOnNewLine);
    const found = this.#match(bareWord, at);
    if (found !== '') return word('name', found, at + found.length);
    const two = this.#text.slice(at, at + 2);
    if (two === '->' || two === '--') return word('mark', two, at + 2);
    if (this.#text[at] === '<') return word('broken', 'an HTML value', this.#html(at));
    if ('[]{};,=+'.includes(this.#text[at] as string)) return word('mark', this.#text[at] as string, at + 1);
    const odd = this.#match(junk, at);
    this.#faults.add(at, {
      rule: 'DOT1',
      message: `${JSON.stringify(odd.slice(0, 20))} is not part of the language`,
      fix: 'take it out, or put it into a string',
      showsSource: true,
    });
    return word('broken', odd, at + odd.length);
  }

  /** Skips space and comments. Returns whether a line break was among them. */
  #skipSpace(): boolean {
    let isOnNewLine = this.#at === 0;
    for (;;) {
      const gap = this.#match(space, this.#at);
      if (gap.includes('\n')) isOnNewLine = true;
      this.#at += gap.length;
      const two = this.#text.slice(this.#at, this.#at + 2);
      // A line that begins with # is a comment: Graphviz treats it as preprocessor output.
      if (two === '//' || (two.startsWith('#') && isOnNewLine))
        this.#takeComment(this.#text.indexOf('\n', this.#at), 0, isOnNewLine);
      else if (two === '/*') this.#takeComment(this.#text.indexOf('*/', this.#at + 2), 2, isOnNewLine);
      else return isOnNewLine;
    }
  }

  #takeComment(found: number, closingLength: number, isOnNewLine: boolean): void {
    if (found < 0 && closingLength > 0)
      this.#faults.add(this.#at, {
        rule: 'DOT1',
        message: 'the comment does not end',
        fix: 'end it with */',
        showsSource: true,
      });
    const end = found < 0 ? this.#text.length : found + closingLength;
    this.#comments.push({ text: this.#text.slice(this.#at, end).trimEnd(), at: this.#at, isOnNewLine });
    this.#at = end;
  }

  #string(isOnNewLine: boolean): Word {
    const at = this.#at;
    const pieces: string[] = [];
    let end = at + 1;
    for (;;) {
      const piece = this.#match(stringPiece, end);
      pieces.push(piece);
      end += piece.length;
      const mark = this.#text[end];
      if (mark === '"') break;
      if (mark === undefined) {
        this.#faults.add(at, {
          rule: 'DOT1',
          message: 'the string does not end',
          fix: 'end it with "',
          showsSource: true,
        });
        this.#at = end;
        return { kind: 'broken', text: pieces.join(''), at, end, isOnNewLine };
      }
      const escaped = this.#text.startsWith('\r\n', end + 1) ? '\r\n' : (this.#text[end + 1] ?? '');
      pieces.push(this.#escape(end, escaped));
      end += 1 + escaped.length;
    }
    this.#at = end + 1;
    const written = pieces.join('');
    // A shell takes a carriage return for a part of the command.
    const text = this.#hasReturns ? written.replaceAll('\r\n', '\n') : written;
    return { kind: 'string', text, at, end: end + 1, isOnNewLine };
  }

  /** Reports an HTML value, and returns where it ends: at the mark that closes its first one. */
  #html(at: number): number {
    const message = 'HTML values are not part of the language';
    this.#faults.add(at, { rule: 'DOT1', message, fix: 'write a string in quotes', showsSource: true });
    let open = 0;
    for (let end = at; end < this.#text.length; end += 1) {
      if (this.#text[end] === '<') open += 1;
      if (this.#text[end] === '>') open -= 1;
      if (open === 0) return end + 1;
    }
    return this.#text.length;
  }

  #escape(at: number, escaped: string): string {
    const known = Object.hasOwn(escapes, escaped) ? escapes[escaped] : undefined;
    if (known !== undefined) return known;
    this.#faults.add(at, {
      rule: 'DOT1',
      severity: 'warning',
      message: `\\${escaped} is no escape: the backslash stays`,
      fix: 'write \\\\ for a backslash',
    });
    return `\\${escaped}`;
  }

  #match(pattern: RegExp, at: number): string {
    pattern.lastIndex = at;
    return pattern.exec(this.#text)?.[0] ?? '';
  }
}
