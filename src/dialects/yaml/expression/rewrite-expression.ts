/** Rewrites an expression in CEL's own syntax (T4). `and`, `or`, `not`, `None`, chained comparisons, references and templates are ours. */
import { knownFunctions, presenceFunction } from '../../../graph/expression/expression.ts';
import { textFunction } from '../../../graph/expression/expression-functions.ts';
import { nearest } from '../../../graph/nearest.ts';
import { closers, TextError, type Token } from './tokens.ts';

/** Prefix of every variable, so that names of inputs such as `namespace`, `type` and `list` do not clash with words of the language. */
export const variablePrefix = 'v_';

export interface RewrittenExpression {
  readonly text: string;
  /** Converts an offset in the rewritten text to one in the author's. */
  readonly offsetOf: (offset: number) => number;
}

type NameKind = 'input' | 'block' | 'secret';

/** Whether a name with dashes is known. If so, its words are read as one name. */
export type IsName = (kind: NameKind, name: string) => boolean;

const literals: ReadonlyMap<string, string> = new Map([
  ['true', 'true'],
  ['True', 'true'],
  ['false', 'false'],
  ['False', 'false'],
  ['null', 'null'],
  ['None', 'null'],
]);
const spaces: ReadonlyMap<string, NameKind> = new Map([
  ['inputs', 'input'],
  ['blocks', 'block'],
  ['secrets', 'secret'],
]);
/** Words that CEL does not accept as names of fields. */
const keywords: readonly string[] = ['in', 'true', 'false', 'null'];
const orderings: readonly string[] = ['<', '<=', '>', '>='];
const comparisons: readonly string[] = [...orderings, '==', '!='];
/** The most words in a name with dashes. */
const maxParts = 40;

const isOperator = (token: Token | undefined, ...texts: readonly string[]): boolean =>
  token?.kind === 'operator' && texts.includes(token.text);

interface Comparison {
  readonly operator: string;
  /** Range of the tokens that make it up. */
  readonly from: number;
  readonly to: number;
}

/** A name made of several tokens. */
interface Dashed {
  readonly name: string;
  readonly kind: NameKind;
  /** Index of the token after it. */
  readonly next: number;
}

class Writer {
  text = '';
  readonly #marks: (readonly [written: number, read: number])[] = [];
  readonly #isName: IsName;

  constructor(isName: IsName) {
    this.#isName = isName;
  }

  offsetOf(offset: number): number {
    const mark = this.#marks.findLast(([written]) => written <= offset);
    return mark === undefined ? 0 : mark[1];
  }

  add(text: string, offset: number): void {
    this.#marks.push([this.text.length, offset]);
    this.text += text;
  }

  /** Whether the token at an index is this word, and not a field of something. */
  #isWord(tokens: readonly Token[], index: number, text: string): boolean {
    const token = tokens[index];
    return token?.kind === 'word' && token.text === text && !isOperator(tokens[index - 1], '.');
  }

  /** Writes expressions separated by commas, as between brackets. */
  list(tokens: readonly Token[]): void {
    let from = 0;
    for (const [index, token] of tokens.entries()) {
      if (!isOperator(token, ',', '?', ':')) continue;
      this.#either(tokens.slice(from, index));
      this.add(` ${token.kind === 'operator' ? token.text : ''} `, token.start);
      from = index + 1;
    }
    this.#either(tokens.slice(from));
  }

  /** Writes the operands of an operator that is a word. */
  #split(tokens: readonly Token[], sign: string, name: string, write: (tokens: readonly Token[]) => void): void {
    let from = 0;
    for (const [index, token] of tokens.entries()) {
      if (!isOperator(token, sign) && !this.#isWord(tokens, index, name)) continue;
      if (index === from || index === tokens.length - 1) {
        throw new TextError(
          token.start,
          `${name} stands between two conditions`,
          'write one on each side, or remove it',
        );
      }
      write(tokens.slice(from, index));
      this.add(` ${sign} `, token.start);
      from = index + 1;
    }
    write(tokens.slice(from));
  }

  #either(tokens: readonly Token[]): void {
    this.#split(tokens, '||', 'or', (parts) => this.#split(parts, '&&', 'and', (part) => this.#negation(part)));
  }

  #negation(tokens: readonly Token[]): void {
    const [first, ...others] = tokens;
    if (first === undefined || !this.#isWord(tokens, 0, 'not')) return this.#comparison(tokens);
    if (others.length === 0) throw new TextError(first.start, 'not stands before a condition', 'write one after it');
    this.add('!(', first.start);
    this.#negation(others);
    this.add(')', others.at(-1)?.end ?? first.end);
  }

  #comparisonsOf(tokens: readonly Token[]): readonly Comparison[] {
    return tokens.flatMap((token, index): readonly Comparison[] => {
      if (token.kind === 'operator' && comparisons.includes(token.text)) {
        return [{ operator: token.text, from: index, to: index + 1 }];
      }
      if (this.#isWord(tokens, index, 'not')) {
        if (this.#isWord(tokens, index + 1, 'in')) return [{ operator: 'not in', from: index, to: index + 2 }];
        throw new TextError(token.start, 'not stands in the middle', 'put what it denies in brackets: (not x)');
      }
      const isIn = this.#isWord(tokens, index, 'in') && !this.#isWord(tokens, index - 1, 'not');
      return isIn ? [{ operator: 'in', from: index, to: index + 1 }] : [];
    });
  }

  #comparison(tokens: readonly Token[]): void {
    const found = this.#comparisonsOf(tokens);
    const [first, second] = found;
    if (first === undefined) return this.#operand(tokens);
    if (second !== undefined && found.some(({ operator }) => !orderings.includes(operator))) {
      const message = `${second.operator} after ${first.operator}: which comes first is not said`;
      throw new TextError(tokens[second.from]?.start ?? 0, message, 'use brackets, or `and`');
    }
    const start = tokens[first.from]?.start ?? 0;
    const isPlain = second === undefined && first.operator !== 'not in';
    if (!isPlain) this.add(first.operator === 'not in' ? '!(' : '(', start);
    for (const [index, { operator, from, to }] of found.entries()) {
      const offset = tokens[from]?.start ?? 0;
      if (index > 0) this.add(' && ', offset);
      this.#operand(tokens.slice(found[index - 1]?.to ?? 0, from));
      this.add(operator === 'not in' ? ' in ' : ` ${operator} `, offset);
      this.#operand(tokens.slice(to, found[index + 1]?.from ?? tokens.length));
    }
    if (!isPlain) this.add(')', start);
  }

  #operand(tokens: readonly Token[]): void {
    for (let index = 0; index < tokens.length;) {
      refuseSideBySide(tokens[index - 1], tokens[index]);
      index = this.#next(tokens, index);
    }
  }

  /** Writes the token at an index with what belongs to it. Returns the index after it. */
  #next(tokens: readonly Token[], index: number): number {
    const token = tokens[index];
    if (token === undefined) return index + 1;
    if (token.kind === 'word') return this.#name(tokens, index, token);
    if (token.kind === 'operator' && token.text === '.') return this.#field(tokens, index, token);
    if (token.kind === 'group') {
      this.add(token.open, token.start);
      this.list(token.tokens);
      this.add(closers[token.open], token.end - 1);
    } else if (token.kind === 'reference') {
      this.add('(', token.start);
      this.list(token.tokens);
      this.add(')', token.end - 1);
    } else if (token.kind === 'template') this.#template(token);
    else this.add(token.kind === 'operator' ? ` ${token.text} ` : token.text, token.start);
    return index + 1;
  }

  #template({ quote, parts, start }: Extract<Token, { readonly kind: 'template' }>): void {
    const closing = quote.replace(/^[rR]/, '');
    this.add(`${textFunction}([`, start);
    for (const [index, part] of parts.entries()) {
      if (index > 0) this.add(', ', start);
      if (typeof part === 'string') this.add(`${quote}${part}${closing}`, start);
      else this.list(part);
    }
    this.add('])', start);
  }

  #field(tokens: readonly Token[], index: number, dot: Token): number {
    const field = tokens[index + 1];
    if (field?.kind !== 'word') {
      this.add('.', dot.start);
      return index + 1;
    }
    const before = tokens[index - 1];
    const isRoot = before?.kind === 'word' && !isOperator(tokens[index - 2], '.');
    const space = isRoot ? spaces.get(before.text) : undefined;
    const dashed = space === undefined ? undefined : this.#dashed(tokens, index + 1, [space]);
    if (dashed !== undefined) this.add(`[${JSON.stringify(dashed.name)}]`, field.start);
    else if (keywords.includes(field.text)) this.add(`["${field.text}"]`, field.start);
    else this.add(`.${field.text}`, dot.start);
    return dashed?.next ?? index + 2;
  }

  #name(tokens: readonly Token[], index: number, token: Extract<Token, { readonly text: string }>): number {
    const next = tokens[index + 1];
    const literal = literals.get(token.text);
    if (literal !== undefined) this.add(literal, token.start);
    else if (next?.kind === 'group' && next.open === '(') this.add(calledName(token), token.start);
    else {
      const dashed = this.#dashed(tokens, index, ['input', 'block']);
      const name = dashed === undefined ? token.text : `${dashed.kind}s`;
      this.add(`${variablePrefix}${name}`, token.start);
      if (dashed === undefined) return index + 1;
      this.add(`[${JSON.stringify(dashed.name)}]`, token.start);
      return dashed.next;
    }
    return index + 1;
  }

  /** The longest known name with dashes that begins at an index and has no spaces in it. */
  #dashed(tokens: readonly Token[], index: number, kinds: readonly NameKind[]): Dashed | undefined {
    let name = '';
    let found: Dashed | undefined;
    for (let at = index; at < Math.min(tokens.length, index + maxParts); at += 1) {
      const token = tokens[at];
      const isPart = token?.kind === 'word' || token?.kind === 'number' || isOperator(token, '-');
      if (!isPart || token === undefined || (at > index && token.start !== tokens[at - 1]?.end)) break;
      name += 'text' in token ? token.text : '';
      const kind = name.includes('-') ? kinds.find((kind) => this.#isName(kind, name)) : undefined;
      if (kind !== undefined) found = { name, kind, next: at + 1 };
    }
    return found;
  }
}

/** Two values with nothing between them: written one after the other they could be a name that nobody wrote. @throws TextError */
function refuseSideBySide(before: Token | undefined, token: Token | undefined): void {
  if (before === undefined || token === undefined) return;
  const isCall = token.kind === 'group' && token.open !== '{';
  if (before.kind === 'operator' || token.kind === 'operator' || isCall) return;
  const isChoice = token.kind === 'word' && (token.text === 'if' || token.text === 'else');
  throw new TextError(
    token.start,
    'two values stand side by side',
    isChoice ? 'write condition ? one : other' : 'write an operator between them, such as +, or put text in quotes',
  );
}

function calledName({ text, start }: { readonly text: string; readonly start: number }): string {
  if (text === 'has') return presenceFunction;
  const known = knownFunctions();
  if (known.includes(text)) return text;
  if (text === 'raw') {
    throw new TextError(start, 'raw() is for commands, and stands alone: ${raw(x)}', 'write the reference without it');
  }
  const guess = text === 'get' ? 'default(x.key, other)' : nearest(text, known);
  const fix =
    guess === undefined ? `use one of: ${known.join(', ')}` : `write ${guess.includes('(') ? guess : `${guess}(…)`}`;
  throw new TextError(start, `no function ${text}`, fix);
}

/** Rewrites an expression. @throws TextError */
export function rewriteExpression(tokens: readonly Token[], isName: IsName): RewrittenExpression {
  const writer = new Writer(isName);
  writer.list(tokens);
  return { text: writer.text, offsetOf: (offset) => writer.offsetOf(offset) };
}
