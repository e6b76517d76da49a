/** Translates one text of the `{{ }}` form to this version (T11). */
import { reportError } from '../expression/parse-text.ts';
import { TextError } from '../expression/tokens.ts';
import { isError, maxErrors, type TextFault } from '../expression/template.ts';
import type { BraceTree } from './brace-writer.ts';
import { MarkedText, escapedText } from './quoted.ts';
import { splitBraces, type BraceBranch, type BracePart } from './split-braces.ts';
import { ExpressionWriter, type BraceNames } from './write-expression.ts';

export interface TextNames extends BraceNames {
  /** Whether a `${` has its meaning in this version. If not, it is text or, in a command, shell syntax. */
  readonly isDollarOurs: (text: string, offset: number) => boolean;
}

/** What a text is used for. */
export type TextKind = 'text' | 'command' | 'condition' | 'template';

export interface Translation {
  readonly text: string;
  /** Converts an offset in the translated text to one in the author's. */
  readonly offsetOf: (offset: number) => number;
  readonly faults: readonly TextFault[];
}

/** Matches text that means the same to a shell as a value does: one word or part of one. */
const plainWord = /^[\w./:,@%+=-]*$/;

class Translator {
  readonly out = new MarkedText();
  readonly #source: string;
  readonly #kind: TextKind;
  readonly #names: TextNames;
  readonly #writer: ExpressionWriter;

  readonly #faults: TextFault[];

  constructor(source: string, kind: TextKind, names: TextNames, faults: TextFault[]) {
    this.#faults = faults;
    this.#source = source;
    this.#kind = kind;
    this.#names = names;
    const warn: ExpressionWriter['warn'] = (offset, message, fix) =>
      void faults.push({ offset, rule: 'T11', severity: 'warning', message, fix });
    this.#writer = new ExpressionWriter(this.out, names, warn);
  }

  parts(parts: readonly BracePart[]): void {
    for (const part of parts) {
      if (this.#faults.length >= maxErrors) return;
      if (part.kind === 'text') this.#text(part);
      else this.#reference(part);
    }
  }

  /** Translates a reference. One without a counterpart is reported, and the others are still checked. */
  #reference(part: Exclude<BracePart, { readonly kind: 'text' }>): void {
    const before = this.out.text.length;
    try {
      this.out.add('${', part.start);
      if (part.kind === 'value') this.#writer.value(this.#unquoted(part.tree));
      else if (this.#kind === 'command') this.#commandChoice(part);
      else this.#choice(part.branches);
      this.out.add('}', part.end);
    } catch (error) {
      reportError(this.#faults, error);
      this.out.cut(before);
    }
  }

  /** Translates a condition that is one expression. */
  condition(tree: BraceTree): void {
    const isJoined = tree.kind === 'binary' && (tree.operator === 'and' || tree.operator === 'or');
    if (isJoined) this.#writer.test(tree);
    else this.#writer.value(tree);
  }

  /** Removes the filter `quote` in commands, where a value is always one word and quoting would change it. */
  #unquoted(tree: BraceTree): BraceTree {
    return this.#kind === 'command' && tree.kind === 'filter' && tree.name === 'quote' ? tree.of : tree;
  }

  #text({ text, start }: Extract<BracePart, { readonly kind: 'text' }>): void {
    let from = 0;
    for (let at = text.indexOf('${'); at >= 0; at = text.indexOf('${', at + 2)) {
      if (text[at - 1] === '$' || this.#names.isDollarOurs(this.#source, start + at)) continue;
      this.out.copy(text.slice(from, at), start + from);
      this.out.add('$', start + at);
      from = at;
    }
    this.out.copy(text.slice(from), start + from);
  }

  /** Writes branches as `test ? 'text' : …`. */
  #choice(branches: readonly BraceBranch[]): void {
    for (const { test, parts } of branches) {
      if (test !== undefined) {
        this.#writer.test(test, 2);
        this.out.add(' ? ', test.start);
      }
      this.#branch(parts, test?.start ?? parts[0]?.start ?? 0);
      if (test !== undefined) this.out.add(' : ', test.start);
    }
    if (branches.at(-1)?.test !== undefined) this.out.add("''", branches.at(-1)?.test?.start ?? 0);
  }

  /** The content of a branch as a string literal with references. A single value needs no string. */
  #branch(parts: readonly BracePart[], start: number): void {
    const [only, ...others] = parts;
    if (only?.kind === 'value' && others.length === 0) return this.#writer.value(only.tree, 2);
    this.out.add("'", start);
    for (const part of parts) {
      if (part.kind === 'text') {
        this.out.add(escapedText(part.text), part.start);
        continue;
      }
      this.out.add('${', part.start);
      if (part.kind === 'value') this.#writer.value(part.tree);
      else this.#choice(part.branches);
      this.out.add('}', part.end);
    }
    this.out.add("'", start);
  }

  /** In a command, the author's text in branches may be syntax, so it has to stay in the script; values are data and must not be syntax. */
  #commandChoice({ branches, start, end }: Extract<BracePart, { readonly kind: 'choice' }>): void {
    const parts = flatParts(branches);
    if (parts.every(({ kind }) => kind === 'text')) {
      this.out.add('raw(', start);
      this.#choice(branches);
      return this.out.add(')', end);
    }
    const isWord = parts.every((part) => part.kind === 'value' || (part.kind === 'text' && plainWord.test(part.text)));
    const before = this.#source[start - 1] ?? ' ';
    const after = this.#source[end] ?? ' ';
    const mayBeNothing = branches.at(-1)?.test !== undefined || branches.some((branch) => branch.parts.length === 0);
    if (!isWord || (mayBeNothing && /\s/.test(before) && /\s/.test(after)))
      throw new TextError(
        start,
        'a branch of this command holds a value: values are data here, never parts of the script',
        'put the choice into env: of the block, or make a block for each case, with a condition',
      );
    this.#choice(branches);
  }
}

/** All parts in branches, nested ones included. */
function flatParts(branches: readonly BraceBranch[]): readonly BracePart[] {
  return branches.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === 'choice' ? flatParts(part.branches) : [part])),
  );
}

/** The tree of a condition that consists of one `{{ }}`. */
function wholeOf(parts: readonly BracePart[]): BraceTree | undefined {
  const written = parts.filter((part) => part.kind !== 'text' || part.text.trim() !== '');
  const [only, ...others] = written;
  return only?.kind === 'value' && others.length === 0 ? only.tree : undefined;
}

const ruled = (faults: readonly TextFault[]): readonly TextFault[] =>
  faults.map((fault) => ({ ...fault, rule: 'T11' }));

/** Translates a text. Without `{{` and `{%` it stays the same, except for `${`, which is then no reference. */
export function translateText(text: string, kind: TextKind, names: TextNames): Translation {
  const faults: TextFault[] = [];
  const translator = new Translator(text, kind, names, faults);
  const options = { names: new Set(names.variables.keys()), isAll: kind === 'condition' || kind === 'template' };
  try {
    const parts = splitBraces(text, options, faults);
    const whole = kind === 'condition' ? wholeOf(parts) : undefined;
    const statement = kind === 'condition' ? parts.find((part) => part.kind === 'choice') : undefined;
    if (statement !== undefined)
      throw new TextError(
        statement.start,
        'a condition is one expression',
        'write it between {{ and }}, with and, or, not',
      );
    if (whole !== undefined) translator.condition(whole);
    else translator.parts(parts);
  } catch (error) {
    reportError(faults, error);
    translator.out.cut(0);
  }
  // A condition with a fault is not translated at all, because the rest of it would mean something else.
  if (kind === 'condition' && faults.some(isError)) return { text: 'true', offsetOf: () => 0, faults: ruled(faults) };
  return { text: translator.out.text, offsetOf: (offset) => translator.out.offsetOf(offset), faults: ruled(faults) };
}
