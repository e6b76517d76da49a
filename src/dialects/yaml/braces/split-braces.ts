/** Splits a text into literal parts, `{{ values }}` and `{% if %}` statements. */
import { nearest } from '../../../graph/nearest.ts';
import { reportError } from '../expression/parse-text.ts';
import { TextError } from '../expression/tokens.ts';
import { maxErrors, type TextFault } from '../expression/template.ts';
import { isKnownFunction } from './brace-functions.ts';
import { readBraceWords } from './brace-tokens.ts';
import { readBraceTree, type BraceTree } from './brace-writer.ts';

export type BracePart =
  | { readonly kind: 'text'; readonly text: string; readonly start: number }
  | { readonly kind: 'value'; readonly tree: BraceTree; readonly start: number; readonly end: number }
  | {
      readonly kind: 'choice';
      readonly branches: readonly BraceBranch[];
      readonly start: number;
      readonly end: number;
    };

/** One branch of an `if`. Without a test it is the `else`. */
export interface BraceBranch {
  readonly test: BraceTree | undefined;
  readonly parts: readonly BracePart[];
}

/** Matches a namespace followed by a field, or the folder `tmp`. Names such as `.Names` belong to other templates. */
const namespaced = /(?<![.\w'"])(?:(?:inputs|blocks|metadata|secrets|each|memory)\s*[.[]|tmp\b(?!\s*[.(]))/;
const calls = /^-?\s*([A-Za-z_]\w*)\s*\(/;
/** Matches a literal value. By itself it does not show whether a file is of this form or contains templates of other tools. */
const literal = /^-?\s*(?:['"\d([]|-\d|(?:true|false|none)\b)/i;
/** Matches a name by itself, or with fields. */
const word = /^-?\s*[A-Za-z_]\w*(?:\.\w+|\[[^\]]*\])*\s*(?:\||-?$)/;

/** Whether the text between `{{` and `}}` is an expression of ours, because it names something of the workflow. */
function isOurs(inner: string): boolean {
  const [, called = ''] = calls.exec(inner) ?? [];
  return namespaced.test(inner) || isKnownFunction(called);
}

/** What may be meant by a name that is nothing of the workflow: with fields, its first part is the mistyped namespace. */
function meantBy(inner: string, first: string): string {
  const [, field] = /^-?\s*[A-Za-z_]\w*\.(\w+)/.exec(inner) ?? [];
  return `write {{ inputs.${field !== undefined && nearest(first, ['inputs']) !== undefined ? field : first} }}`;
}

const sign = /\{\{|\}\}/g;

/** The text after a `{{`, up to the next opening or closing sign. */
function innerAt(text: string, at: number): string {
  sign.lastIndex = at + 2;
  return text.slice(at + 2, sign.exec(text)?.index ?? at + 200);
}

const tags = ['if', 'elif', 'else', 'endif', 'for', 'endfor', 'set', 'endset', 'macro', 'endmacro', 'include', 'block'];
const tagName = /\{%[-+]?\s*([a-z]+)\b/y;
const raw = /\{%-?\s*raw\s*-?%\}/y;
const endRaw = /\{%-?\s*endraw\s*-?%\}/g;

const refusedTags: ReadonlyMap<string, string> = new Map(
  Object.entries({
    for: 'use for_each, or join(list, "\\n") for a list of texts',
    set: 'write the expression where the name is read, or compute it in a block',
  }),
);

/** What else counts as an expression in a text. */
export interface SplitOptions {
  /** Names with a meaning of their own, such as the variables of a template. */
  readonly names: ReadonlySet<string>;
  /** Whether every `{{ }}` is an expression, as in conditions and templates. */
  readonly isAll: boolean;
}

/** Whether a text contains a value or statement of this form. */
export function hasBraces(text: string): boolean {
  if (!text.includes('{{') && !text.includes('{%')) return false;
  for (let at = text.indexOf('{{'); at >= 0; at = text.indexOf('{{', at + 2))
    if (text[at - 1] !== '$' && isOurs(innerAt(text, at))) return true;
  return text.includes('%}') && /\{%[-+]?\s*(?:if|for|set|raw)\b/.test(text);
}

class Splitter {
  readonly #text: string;
  readonly #options: SplitOptions;
  readonly #faults: TextFault[];
  #at = 0;
  /** Whether the sign before removed the space after it. */
  #trims = false;
  /** Where the last comment ends. */
  readonly #lastComment: number;

  constructor(text: string, options: SplitOptions, faults: TextFault[]) {
    this.#text = text;
    this.#lastComment = text.lastIndexOf('#}');
    this.#options = options;
    this.#faults = faults;
  }

  /** Reads parts up to a statement that ends or divides another one, or to the end. @throws TextError */
  parts(depth: number): { readonly parts: readonly BracePart[]; readonly tag: string | undefined } {
    if (depth > 20)
      throw new TextError(this.#at, 'statements nested deeper than 20', 'make two blocks with conditions');
    const parts: BracePart[] = [];
    let from = this.#at;
    const endText = (end: number, trimsBefore: boolean): void => {
      const start = this.#trims ? from + (/^\s*/.exec(this.#text.slice(from, end))?.[0].length ?? 0) : from;
      const text = this.#text.slice(start, end);
      const trimmed = trimsBefore ? text.trimEnd() : text;
      if (trimmed !== '') parts.push({ kind: 'text', text: trimmed, start });
      this.#trims = false;
    };
    while (this.#at < this.#text.length && this.#faults.length < maxErrors) {
      const next = /\{[{%#]/g;
      next.lastIndex = this.#at;
      const found = next.exec(this.#text)?.index;
      if (found === undefined) break;
      this.#at = found;
      const isShells = this.#text[found - 1] === '$';
      const trimsBefore = this.#text[found + 2] === '-';
      if (this.#text.startsWith('{{', found) && this.#isValue(found)) {
        if (isShells) this.#refuseDollar(found);
        endText(found, trimsBefore);
        parts.push(...this.#value());
        from = this.#at;
      } else if (this.#match(raw) !== null) {
        endText(found, false);
        parts.push(this.#raw());
        from = this.#at;
      } else if (!isShells && this.#text.startsWith('{#', found) && this.#lastComment > found) {
        endText(found, trimsBefore);
        from = this.#at = this.#text.indexOf('#}', found) + 2;
      } else {
        const tag = this.#match(tagName)?.[1];
        if (tag === undefined || !tags.includes(tag)) {
          this.#at += 2;
          continue;
        }
        endText(found, trimsBefore);
        if (tag !== 'if') return { parts, tag };
        parts.push(this.#choice(depth));
        from = this.#at;
      }
    }
    this.#at = this.#text.length;
    endText(this.#at, false);
    return { parts, tag: undefined };
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text);
  }

  /** Text that is taken literally. @throws TextError it has no end */
  #raw(): BracePart {
    const opened = this.#at;
    const start = opened + (this.#match(raw)?.[0].length ?? 0);
    endRaw.lastIndex = start;
    const found = endRaw.exec(this.#text);
    if (found === null) throw new TextError(opened, '{% raw %} is not closed', 'write {% endraw %} where it ends');
    this.#at = found.index + found[0].length;
    return { kind: 'text', text: this.#text.slice(start, found.index), start };
  }

  #isValue(at: number): boolean {
    const inner = innerAt(this.#text, at);
    const [first = ''] = /[A-Za-z_]\w*/.exec(inner) ?? [];
    if (this.#options.isAll || isOurs(inner) || literal.test(inner) || this.#options.names.has(first)) return true;
    if (word.test(inner))
      this.#faults.push({
        offset: at,
        rule: 'T11',
        severity: 'warning',
        message: `{{${inner}}} names nothing of the workflow and stays as it is`,
        fix: `${meantBy(inner, first)} if the input is meant`,
      });
    return false;
  }

  #refuseDollar(at: number): void {
    const message = '${{ … }} is the form of another system';
    const fix = "write {{ … }} without the $; for a dollar before a value {{ '$' }}{{ … }}";
    this.#faults.push({ offset: at - 1, rule: 'T11', message, fix });
  }

  /** A value; empty if it cannot be read, which is reported. */
  #value(): readonly BracePart[] {
    const start = this.#at;
    const from = start + (this.#text[start + 2] === '-' ? 3 : 2);
    try {
      const { tokens, end, trimsAfter } = readBraceWords(this.#text, from, '}}');
      this.#at = end;
      this.#trims = trimsAfter;
      return [{ kind: 'value', tree: readBraceTree(tokens, end - 2), start, end }];
    } catch (error) {
      reportError(this.#faults, error);
      if (this.#at > start) return [];
      const close = this.#text.indexOf('}}', from);
      this.#at = close < 0 ? this.#text.length : close + 2;
      return [];
    }
  }

  /** The tokens of the statement here, without its name. */
  #statement(): BraceTree | undefined {
    const [whole = ''] = this.#match(tagName) ?? [];
    const { tokens, end, trimsAfter } = readBraceWords(this.#text, this.#at + whole.length, '%}');
    this.#at = end;
    this.#trims = trimsAfter;
    return tokens.length === 0 ? undefined : readBraceTree(tokens, end - 2);
  }

  #choice(depth: number): BracePart {
    const start = this.#at;
    const branches: BraceBranch[] = [];
    let test = this.#statement();
    if (test === undefined) throw new TextError(start, 'if has no test', 'write one: {% if … %}');
    for (;;) {
      const at = this.#at;
      const { parts, tag } = this.parts(depth + 1);
      branches.push({ test, parts });
      if (tag === 'endif') break;
      if (tag === undefined) throw new TextError(start, '{% if %} is not closed', 'write {% endif %} where it ends');
      if (tag !== 'elif' && tag !== 'else') this.refuse(tag);
      const isLast = test === undefined;
      test = this.#statement();
      if (isLast || (tag === 'elif') === (test === undefined))
        throw new TextError(at, `${tag} stands in the wrong place`, 'write if, elif, else, endif in this order');
    }
    this.#statement();
    return { kind: 'choice', branches, start, end: this.#at };
  }

  /** @throws TextError there is a statement here that is not supported */
  refuse(tag: string): never {
    const isOrder = ['elif', 'else', 'endif'].includes(tag);
    const message = isOrder ? `{% ${tag} %} without {% if %}` : `there is no {% ${tag} %} here`;
    const fix = isOrder ? 'write {% if … %} before it' : 'compute it in a block';
    throw new TextError(this.#at, message, refusedTags.get(tag) ?? fix);
  }
}

/** Splits a text, and reports its faults. @throws TextError it cannot be read */
export function splitBraces(text: string, options: SplitOptions, faults: TextFault[]): readonly BracePart[] {
  const splitter = new Splitter(text, options, faults);
  const { parts, tag } = splitter.parts(0);
  return tag === undefined ? parts : splitter.refuse(tag);
}
