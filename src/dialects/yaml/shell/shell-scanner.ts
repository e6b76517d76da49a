/**
 * Scans a script like a shell, as far as quoting is concerned (T8): which parts are quoted and how, and where commands, here-documents,
 * arithmetic and expansions begin and end. It copies the script, and asks at every `${` what to write there.
 */
import { TextError } from '../expression/tokens.ts';
import type { TextFault } from '../expression/template.ts';
import { warnOfEvaluation, evaluatingDeclaration } from './check-names.ts';
import { CommandWords, type WordsKind } from './command-words.ts';

// A position in a script that is being read and copied.

const maxDepth = 100;

class ShellCursor {
  protected readonly text: string;
  protected at = 0;
  /** End of the text to read. A here-document ends before the script does. */
  protected end: number;
  readonly #write: (text: string) => void;
  #depth = 0;

  constructor(text: string, write: (text: string) => void) {
    this.text = text;
    this.end = text.length;
    this.#write = write;
  }

  /** The character here or further on; empty at the end. */
  protected peek(offset = 0): string {
    const index = this.at + offset;
    return index < this.end ? (this.text[index] ?? '') : '';
  }

  protected starts(text: string): boolean {
    return this.at + text.length <= this.end && this.text.startsWith(text, this.at);
  }

  /** Copies characters and returns them. */
  protected copy(length: number): string {
    const text = this.text.slice(this.at, Math.min(this.at + length, this.end));
    this.#write(text);
    this.at += text.length;
    return text;
  }

  /** Writes other text in place of characters. */
  protected put(text: string, length: number): void {
    this.#write(text);
    this.at += length;
  }

  /** Reads a nested part. @throws TextError it is nested too deep */
  protected within<Result>(read: () => Result): Result {
    this.#depth += 1;
    if (this.#depth > maxDepth) {
      throw new TextError(this.at, `a command nested deeper than ${maxDepth}`, 'make it simpler');
    }
    const result = read();
    this.#depth -= 1;
    return result;
  }
}

// Here-documents of a shell: where they end, and which quoted ones can be written as unquoted ones, which the shell
// expands.

export interface Document {
  readonly delimiter: string;
  readonly isQuoted: boolean;
  /** Whether its delimiter is quoted in the author's text, but not in the written one. */
  readonly isUnquoted: boolean;
  readonly isIndented: boolean;
  /** Whether its reader runs it as a script. */
  readonly isRun: boolean;
}

/** Matches a line that pipes something into a shell. */
const intoShell: RegExp = /\|[ \t]*(?:sudo +)?(?:ba|da|k|z|a)?sh\b[^|\n]*\n$/;

/** Characters that the shell interprets in a document with an unquoted delimiter. */
const expandable = '\\$`';

/** Matches a quoted delimiter that means the same without quotes. */
const plain = /(?:'([\w.-]+)'|"([\w.-]+)"|\\([\w.-]+))(?=[ \t\n;&|()<>]|$)/y;

/** The delimiter at a place, as written and without quotes, if it is a simple word in quotes. */
function readPlainDelimiter(
  text: string,
  at: number,
): { readonly written: string; readonly delimiter: string } | undefined {
  plain.lastIndex = at;
  const [written, ...words] = plain.exec(text) ?? [];
  const delimiter = words.find((word) => word !== undefined);
  return written === undefined || delimiter === undefined ? undefined : { written, delimiter };
}

/** Offset of the line that ends a document; the end of the text if there is none. */
function documentEnd(
  text: string,
  end: number,
  from: number,
  { delimiter, isIndented }: Pick<Document, 'delimiter' | 'isIndented'>,
): number {
  for (let line = from; line < end;) {
    const next = text.indexOf('\n', line);
    const lineEnd = next < 0 || next > end ? end : next;
    const written = text.slice(line, lineEnd);
    if ((isIndented ? written.replace(/^\t+/, '') : written) === delimiter) return line;
    line = lineEnd + 1;
  }
  return end;
}

/** The kind of place that contains a `${`. */
export type Place =
  | 'bare'
  | 'double'
  | 'single'
  | 'document'
  /** A here-document that the shell takes literally. It is written as one that the shell expands, with everything else escaped. */
  | 'quoted document'
  /** Places where no value can be passed as data. */
  | 'literal document'
  | 'arithmetic'
  | 'dollar quotes'
  | 'backquotes'
  | 'expansion'
  | 'delimiter'
  | 'backslash';

/** What to do with the references in a script. */
export interface References {
  /** Writes the replacement for a `${`; undefined leaves it to the shell. */
  readonly substitute: (offset: number, place: Place) => { readonly end: number } | undefined;
  /** Whether the `${` at an offset belongs to the workflow. */
  readonly isOurs: (offset: number) => boolean;
}

const wordEnd = ' \t\n;&|()<>';

export class ShellScanner extends ShellCursor {
  readonly #references: References;
  readonly #faults: TextFault[];
  /** Whether a variable of the script evaluates what is assigned to it. */
  readonly #evaluates: boolean;
  #backquoteDepth = 0;

  constructor(text: string, write: (text: string) => void, references: References, faults: TextFault[]) {
    super(text, write);
    this.#references = references;
    this.#faults = faults;
    this.#evaluates = evaluatingDeclaration.test(text);
  }

  scan(): void {
    this.#commands(undefined);
  }

  /** Scans commands up to their closing sign, which is not read. Returns the offsets of the references in them. */
  #commands(closer: ')' | '`' | undefined, kind: WordsKind = 'commands'): readonly number[] {
    const words = new CommandWords(this.#faults, this.#evaluates, kind);
    const documents: Document[] = [];
    /** For each open `case`, whether patterns or commands come next. */
    const cases: ('pattern' | 'commands')[] = [];
    while (this.at < this.end) {
      const sign = this.peek();
      if (sign === '<' || sign === '>') {
        this.#redirection(words, cases, documents);
        continue;
      }
      if (wordEnd.includes(sign)) this.#endWord(words, cases);
      if (sign === closer && (sign === '`' || cases.at(-1) !== 'pattern')) break;
      if (sign === ' ' || sign === '\t') this.copy(1);
      else if (sign === '\n') {
        this.copy(1);
        if (!words.isCaseHead) words.endCommand();
        this.#documents(documents.splice(0));
      } else if (sign === '(') this.#parenthesis(words, cases);
      else if (sign === ')') {
        this.copy(1);
        if (cases.at(-1) === 'pattern') {
          cases[cases.length - 1] = 'commands';
          words.endPattern();
        } else words.endCommand();
      } else if (sign === ';' || sign === '&' || sign === '|') this.#separator(words, cases);
      else if (sign === '#' && words.isAtStart) this.#comment(closer);
      else this.#wordPart(words, 'bare');
    }
    this.#endWord(words, cases);
    words.endCommand();
    return words.all;
  }

  /** `(` outside of quotes: arithmetic, a subshell, items of an array, a function, or part of a pattern. */
  #parenthesis(words: CommandWords, cases: readonly ('pattern' | 'commands')[]): void {
    if (this.starts('((') && !isCommandSubstitution(this.text, this.at + 2, this.end)) return this.#arithmetic(2);
    const before = this.text[this.at - 1] ?? '';
    const isList = before === '=';
    this.copy(1);
    if (cases.at(-1) === 'pattern' && !'@!?*+'.includes(before)) return;
    const from = this.at;
    const kind = isList ? 'items' : words.isCondition ? 'condition' : 'commands';
    for (const offset of this.within(() => this.#commands(')', kind))) words.refer(offset, true);
    const content = this.text.slice(from, this.at);
    if (isList && content.includes('<<')) {
      throw new TextError(from, 'a here-document within a list of items', 'put it into a variable first');
    }
    this.copy(1);
    if (!isList && content.trim() === '') words.endCommand();
  }

  #endWord(words: CommandWords, cases: ('pattern' | 'commands')[]): void {
    if (words.isAtStart) return;
    const { text, isFirst, isCaseHead } = words;
    words.endWord();
    const state = cases.at(-1);
    if (isCaseHead && text === 'in') {
      cases.push('pattern');
      words.endCommand();
    } else if (isFirst && text === 'esac' && state !== undefined) cases.pop();
  }

  #separator(words: CommandWords, cases: ('pattern' | 'commands')[]): void {
    const length = ['&&', '||', ';;&', ';;', ';&', '|&', '&>'].find((sign) => this.starts(sign))?.length ?? 1;
    const sign = this.copy(length);
    if (sign === '&>') return words.redirect();
    if (cases.at(-1) === 'pattern') return words.endPattern();
    words.endCommand(sign === '|' || sign === '|&');
    if (cases.at(-1) === 'commands' && (sign.startsWith(';;') || sign === ';&')) cases[cases.length - 1] = 'pattern';
  }

  #redirection(words: CommandWords, cases: ('pattern' | 'commands')[], documents: Document[]): void {
    const isDocument = this.starts('<<') && !this.starts('<<<');
    const isSubstitution = this.peek(1) === '(';
    if (!isSubstitution) words.dropDescriptor();
    this.#endWord(words, cases);
    if (isDocument) documents.push(this.#document(words));
    else {
      const length = ['<<<', '>>', '>&', '<&', '>|', '<>'].find((sign) => this.starts(sign))?.length ?? 1;
      this.copy(length);
      if (!isSubstitution) words.redirect();
    }
  }

  #comment(closer: ')' | '`' | undefined): void {
    const ends = closer === '`' ? /[\n`]/g : /\n/g;
    ends.lastIndex = this.at;
    this.copy((ends.exec(this.text)?.index ?? this.end) - this.at);
  }

  /** One part of a word outside of quotes: an escaped or plain character, a quoted string, an expansion. */
  #wordPart(words: CommandWords, place: 'bare' | 'expansion'): void {
    const sign = this.peek();
    if (sign === '\\') {
      if (this.peek(1) === '\n') this.copy(2);
      else words.write(this.#escape().slice(1));
    } else if (sign === "'") this.#single(words, place === 'bare' ? 'single' : place);
    else if (sign === '"') this.#double(words, place === 'bare' ? 'double' : place);
    else if (sign === '`') this.#backquotes(words);
    else if (sign === '$') this.#dollar(words, place);
    else words.write(this.copy(1));
  }

  /** A backslash and the character that it escapes. */
  #escape(): string {
    if (this.text.startsWith('${', this.at + 1)) {
      const offset = this.at + 1;
      const replaced = this.#references.substitute(offset, 'backslash');
      if (replaced !== undefined) {
        this.at = replaced.end;
        return '';
      }
    }
    return this.copy(2);
  }

  /** Replaces the reference at a `${`. Returns false if it is the shell's. */
  #reference(words: CommandWords, place: Place): boolean {
    const offset = this.at;
    const replaced = this.#references.substitute(offset, place);
    if (replaced === undefined) return false;
    this.at = replaced.end;
    words.refer(offset);
    return true;
  }

  #single(words: CommandWords, place: Place): void {
    this.copy(1);
    words.write('');
    while (this.at < this.end && this.peek() !== "'") {
      if (this.starts('$${')) {
        this.at += 1;
        words.write(this.copy(2));
      } else if (!(this.starts('${') && this.#reference(words, place))) words.write(this.copy(1));
    }
    this.copy(1);
  }

  #double(words: CommandWords, place: Place): void {
    this.copy(1);
    words.write('');
    while (this.at < this.end && this.peek() !== '"') this.#quotedPart(words, place);
    this.copy(1);
  }

  /** A character or expansion in double quotes or in a here-document. */
  #quotedPart(words: CommandWords, place: Place): void {
    const sign = this.peek();
    if (sign === '\\') words.write(this.#escape());
    else if (sign === '`') this.#backquotes(words);
    else if (sign === '$') this.#dollar(words, place);
    else words.write(this.copy(1));
  }

  #dollar(words: CommandWords, place: Place): void {
    if (this.starts('$${')) {
      this.at += 1;
      this.within(() => this.#expansion(words, place));
    } else if (this.starts('${')) {
      if (!this.#reference(words, place)) this.within(() => this.#expansion(words, place));
    } else if (this.starts('$((') && !isCommandSubstitution(this.text, this.at + 3, this.end)) {
      this.within(() => this.#arithmetic(3));
      words.write('0');
    } else if (this.starts('$(')) {
      this.copy(2);
      words.write('');
      for (const offset of this.within(() => this.#commands(')'))) words.refer(offset, true);
      this.copy(1);
    } else if (this.starts('$[')) {
      this.copy(2);
      this.within(() => this.#until(']', 'arithmetic'));
    } else if (this.starts("$'") && (place === 'bare' || place === 'expansion')) this.#dollarQuotes(words);
    else if (this.starts('$$') && !this.text.startsWith('$${', this.at + 1)) words.write(this.copy(2));
    else words.write(this.copy(1));
  }

  /** `$'…'`. A backslash escapes the next character in some shells and not in others. */
  #dollarQuotes(words: CommandWords): void {
    this.copy(2);
    words.write('');
    while (this.at < this.end && this.peek() !== "'") {
      if (this.starts('${') && this.#reference(words, 'dollar quotes')) continue;
      words.write(this.copy(this.peek() === '\\' ? 2 : 1));
    }
    this.copy(1);
  }

  /** Backquotes contain ordinary commands, unless there are backslashes in them that would first have to be removed. */
  #backquotes(words: CommandWords): void {
    const close = /[^\\`]*(?:\\[^][^\\`]*)*`/y;
    close.lastIndex = this.at + 1;
    const length = close.exec(this.text)?.[0].length ?? this.end - this.at;
    const content = this.text.slice(this.at + 1, this.at + length);
    this.copy(1);
    words.write('');
    if (content.includes('\\')) this.#until('`', 'backquotes');
    else {
      this.#backquoteDepth += 1;
      for (const offset of this.within(() => this.#commands('`'))) words.refer(offset, true);
      this.#backquoteDepth -= 1;
      this.copy(1);
    }
  }

  /** Copies up to and including a sign; no reference is allowed there. */
  #until(closer: string, place: Place): void {
    const words = new CommandWords([]);
    while (this.at < this.end && !this.starts(closer)) {
      if (this.starts('${') && this.#reference(words, place)) continue;
      if (this.starts('$(') && place !== 'backquotes') this.#dollar(words, place);
      else this.copy(this.peek() === '\\' ? 2 : 1);
    }
    this.copy(closer.length);
  }

  /** Arithmetic, after its opening signs. */
  #arithmetic(length: number): void {
    const words = new CommandWords([]);
    this.copy(length);
    for (let depth = 0; this.at < this.end;) {
      const sign = this.peek();
      if (sign === '$') this.#dollar(words, 'arithmetic');
      else if (sign === '`') this.#backquotes(words);
      else if (sign === ')' && depth === 0) break;
      else {
        depth += sign === '(' ? 1 : sign === ')' ? -1 : 0;
        this.copy(sign === '\\' ? 2 : 1);
      }
    }
    this.copy(2);
  }

  /** The shell's own `${…}`. A value may only be used as the word that replaces a variable. */
  #expansion(words: CommandWords, place: Place): void {
    const head = /\$\{[#!]?(?:\w+|[#@*?$!-])?(:?[-=+?])?/y;
    head.lastIndex = this.at;
    const match = head.exec(this.text);
    words.write(this.copy(match?.[0].length ?? 2));
    const isWord = match?.[1] !== undefined;
    const inside: Place =
      isWord && (place === 'bare' || place === 'double' || place === 'document') ? place : 'expansion';
    while (this.at < this.end && this.peek() !== '}') {
      const sign = this.peek();
      const isQuote = sign === '"' || (sign === "'" && (place === 'bare' || !isWord));
      if (inside === 'bare' && !isQuote) this.#wordPart(words, 'bare');
      else if (isQuote) this.#wordPart(words, 'expansion');
      else this.#quotedPart(words, inside);
    }
    this.copy(1);
  }

  /** `<<` and the delimiter of the document. */
  #document(words: CommandWords): Document {
    const isRun = words.isInterpreter;
    this.copy(2);
    const isIndented = this.peek() === '-';
    if (isIndented) this.copy(1);
    while (this.peek() === ' ' || this.peek() === '\t') this.copy(1);
    const plain = this.#plainDelimiter(isIndented);
    if (plain !== undefined) return { delimiter: plain, isQuoted: true, isUnquoted: true, isIndented, isRun };
    const delimiter = new CommandWords([]);
    const from = this.at;
    while (this.at < this.end && !wordEnd.includes(this.peek())) {
      if (this.starts('${') && this.#reference(delimiter, 'delimiter')) continue;
      this.#wordPart(delimiter, 'expansion');
    }
    const written = this.text.slice(from, this.at);
    if (/[$`]/.test(written) && delimiter.all.length === 0) {
      throw new TextError(from, 'the delimiter of a here-document holds an expansion', 'write a plain word');
    }
    const isQuoted = /["'\\]/.test(written);
    return { delimiter: delimiter.text, isQuoted, isUnquoted: false, isIndented, isRun };
  }

  /**
   * Writes a quoted delimiter without quotes if references may be in its document. Not inside of backquotes, which remove backslashes
   * before the document is read.
   */
  #plainDelimiter(isIndented: boolean): string | undefined {
    const plain = this.#backquoteDepth > 0 ? undefined : readPlainDelimiter(this.text, this.at);
    if (plain === undefined) return undefined;
    const { written, delimiter } = plain;
    const line = this.text.indexOf('\n', this.at) + 1;
    if (line === 0 || line >= this.end) return undefined;
    const end = documentEnd(this.text, this.end, line, { delimiter, isIndented });
    let at = this.text.indexOf('${', line);
    while (at >= 0 && at < end && !this.#references.isOurs(at)) at = this.text.indexOf('${', at + 2);
    if (at < 0 || at >= end) return undefined;
    this.put(delimiter, written.length);
    return delimiter;
  }

  /** The bodies of the documents announced on the previous line. */
  #documents(documents: readonly Document[]): void {
    if (documents.length === 0) return;
    const line = this.text.slice(this.text.lastIndexOf('\n', this.at - 2) + 1, this.at);
    const isPiped = intoShell.test(line);
    for (const { delimiter, isQuoted, isUnquoted, isIndented, isRun } of documents) {
      const outer = this.end;
      const end = documentEnd(this.text, outer, this.at, { delimiter, isIndented });
      const words = new CommandWords([]);
      this.end = end;
      while (this.at < this.end) {
        if (!isQuoted) this.#quotedPart(words, 'document');
        else this.#literalPart(words, isUnquoted);
      }
      this.end = outer;
      if (isRun || isPiped)
        for (const offset of words.all) warnOfEvaluation(this.#faults, offset, 'the program that reads this');
      const next = this.text.indexOf('\n', this.at);
      this.copy((next < 0 ? this.end : next + 1) - this.at);
    }
  }

  /** A character or reference in a quoted document. */
  #literalPart(words: CommandWords, isUnquoted: boolean): void {
    if (this.starts('$${')) this.at += 1;
    else if (this.starts('${') && this.#reference(words, isUnquoted ? 'quoted document' : 'literal document')) return;
    const sign = this.peek();
    if (isUnquoted && expandable.includes(sign)) this.put(`\\${sign}`, 1);
    else this.copy(1);
  }
}

// Distinguishes `$((1 + 2))` from `$((a; b); c)`, for which a shell has to read up to the end.

/**
 * Whether two opening parentheses begin commands and not arithmetic, which is so if the two that close them are not adjacent.
 * @param offset - after the opening parentheses
 */
function isCommandSubstitution(text: string, offset: number, end: number): boolean {
  let depth = 0;
  for (let at = offset; at < end; at += 1) {
    const sign = text[at];
    if (sign === '\\') at += 1;
    else if (sign === "'" || sign === '"') {
      const close = text.indexOf(sign, at + 1);
      if (close < 0) return false;
      at = close;
    } else if (sign === '(') depth += 1;
    else if (sign === ')') {
      if (depth === 0) return text[at + 1] !== ')';
      depth -= 1;
    }
  }
  return false;
}
