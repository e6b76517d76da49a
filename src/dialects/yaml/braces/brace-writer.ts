/** What the code that writes expressions and the code that writes calls share. */
import { TextError } from '../expression/tokens.ts';
import type { BraceToken } from './brace-tokens.ts';
import type { MarkedText } from './quoted.ts';

// Parses an expression of the `{{ }}` form to a tree of operators, filters, tests, calls and the inline `if`.

/** The arguments of a call or a filter. */
export interface BraceArguments {
  readonly plain: readonly BraceTree[];
  readonly named: ReadonlyMap<string, BraceTree>;
}

export type BraceTree = {
  /** Offset in the text. */
  readonly start: number;
} & (
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'field'; readonly of: BraceTree; readonly name: string }
  | { readonly kind: 'item'; readonly of: BraceTree; readonly key: BraceTree }
  /** A function call or, with `of`, a method call. */
  | { readonly kind: 'call'; readonly of: BraceTree | undefined; readonly name: string; readonly args: BraceArguments }
  | { readonly kind: 'filter'; readonly of: BraceTree; readonly name: string; readonly args: BraceArguments }
  | { readonly kind: 'test'; readonly of: BraceTree; readonly name: string; readonly isNot: boolean }
  | { readonly kind: 'not' | 'minus'; readonly of: BraceTree }
  | { readonly kind: 'binary'; readonly operator: string; readonly left: BraceTree; readonly right: BraceTree }
  /** `a < b <= c` */
  | {
      readonly kind: 'comparison';
      readonly first: BraceTree;
      readonly rest: readonly { readonly operator: string; readonly right: BraceTree }[];
    }
  | {
      readonly kind: 'choice';
      readonly test: BraceTree;
      readonly yes: BraceTree;
      readonly no: BraceTree | undefined;
    }
  | { readonly kind: 'list'; readonly items: readonly BraceTree[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [BraceTree, BraceTree])[] }
);

const depthMax = 60;
const comparisons: readonly string[] = ['==', '!=', '<', '<=', '>', '>='];

/** Binary operators, those that bind least first. */
const levels: readonly (readonly string[])[] = [['+', '-'], ['~'], ['*', '/', '//', '%']];

class TreeReader {
  readonly #tokens: readonly BraceToken[];
  readonly #end: number;
  #at = 0;
  #depth = 0;

  constructor(tokens: readonly BraceToken[], end: number) {
    this.#tokens = tokens;
    this.#end = end;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#tokens.length;
  }

  get offset(): number {
    return this.#tokens[this.#at]?.start ?? this.#end;
  }

  /** Takes the next token if it is one of these. */
  #take(kind: 'name' | 'operator', ...texts: readonly string[]): string | undefined {
    const token = this.#tokens[this.#at];
    if (token?.kind !== kind || !texts.includes(token.text)) return undefined;
    this.#at += 1;
    return token.text;
  }

  #need(sign: string): void {
    if (this.#take('operator', sign) === undefined)
      throw new TextError(this.offset, `${sign} is missing`, `write ${sign} here`);
  }

  #name(): string {
    const token = this.#tokens[this.#at];
    if (token?.kind !== 'name') throw new TextError(this.offset, 'a name is missing', 'write one here');
    this.#at += 1;
    return token.text;
  }

  expression(): BraceTree {
    this.#depth += 1;
    if (this.#depth > depthMax)
      throw new TextError(this.offset, `an expression nested deeper than ${depthMax}`, 'make it simpler');
    const yes = this.#either();
    let tree = yes;
    if (this.#take('name', 'if') !== undefined) {
      const test = this.#either();
      const no = this.#take('name', 'else') === undefined ? undefined : this.expression();
      tree = { kind: 'choice', start: yes.start, test, yes, no };
    }
    this.#depth -= 1;
    return tree;
  }

  #either(): BraceTree {
    let left = this.#both();
    while (this.#take('name', 'or') !== undefined)
      left = { kind: 'binary', operator: 'or', start: left.start, left, right: this.#both() };
    return left;
  }

  #both(): BraceTree {
    let left = this.#negation();
    while (this.#take('name', 'and') !== undefined)
      left = { kind: 'binary', operator: 'and', start: left.start, left, right: this.#negation() };
    return left;
  }

  #negation(): BraceTree {
    const start = this.offset;
    if (this.#take('name', 'not') === undefined) return this.#comparison();
    this.#depth += 1;
    if (this.#depth > depthMax) throw new TextError(start, `more than ${depthMax} times not`, 'make it simpler');
    const of = this.#negation();
    this.#depth -= 1;
    return { kind: 'not', start, of };
  }

  #comparator(): string | undefined {
    if (this.#take('name', 'in') !== undefined) return 'in';
    const [first, second] = this.#tokens.slice(this.#at, this.#at + 2);
    if (first?.kind === 'name' && first.text === 'not' && second?.kind === 'name' && second.text === 'in') {
      this.#at += 2;
      return 'not in';
    }
    return this.#take('operator', ...comparisons);
  }

  #comparison(): BraceTree {
    const first = this.#arithmetic(0);
    const rest: { operator: string; right: BraceTree }[] = [];
    for (let operator = this.#comparator(); operator !== undefined; operator = this.#comparator())
      rest.push({ operator, right: this.#arithmetic(0) });
    return rest.length === 0 ? first : { kind: 'comparison', start: first.start, first, rest };
  }

  #arithmetic(level: number): BraceTree {
    const operators = levels[level];
    if (operators === undefined) return this.#unary();
    let left = this.#arithmetic(level + 1);
    for (
      let sign = this.#take('operator', ...operators);
      sign !== undefined;
      sign = this.#take('operator', ...operators)
    )
      left = { kind: 'binary', operator: sign, start: left.start, left, right: this.#arithmetic(level + 1) };
    return left;
  }

  #unary(): BraceTree {
    const start = this.offset;
    if (this.#take('operator', '+') !== undefined) return this.#filters(this.#postfix(this.#primary()));
    if (this.#take('operator', '-') === undefined) return this.#filters(this.#postfix(this.#primary()));
    return this.#filters({ kind: 'minus', start, of: this.#postfix(this.#primary()) });
  }

  #filters(value: BraceTree): BraceTree {
    let tree = value;
    for (;;) {
      const { start } = tree;
      if (this.#take('operator', '|') !== undefined) {
        const name = this.#name();
        const args = this.#take('operator', '(') === undefined ? noArguments : this.#arguments();
        tree = { kind: 'filter', start, of: tree, name, args: args };
      } else if (this.#take('name', 'is') !== undefined) {
        const isNot = this.#take('name', 'not') !== undefined;
        tree = { kind: 'test', start, of: tree, name: this.#name().toLowerCase(), isNot };
      } else if (this.#take('operator', '**') !== undefined) {
        throw new TextError(start, 'there is no ** here', 'multiply with *');
      } else return tree;
    }
  }

  #postfix(value: BraceTree): BraceTree {
    let tree = value;
    for (;;) {
      const { start } = tree;
      if (this.#take('operator', '.') !== undefined) {
        const token = this.#tokens[this.#at];
        if (token?.kind === 'number' && /^\d+$/.test(token.text)) {
          this.#at += 1;
          tree = { kind: 'item', start, of: tree, key: { kind: 'number', start: token.start, text: token.text } };
        } else tree = { kind: 'field', start, of: tree, name: this.#name() };
      } else if (this.#take('operator', '[') !== undefined) {
        const key = this.expression();
        if (this.#take('operator', ':') !== undefined)
          throw new TextError(start, 'parts of lists and texts cannot be taken by [from:to]', 'compute it in a block');
        this.#need(']');
        tree = { kind: 'item', start, of: tree, key };
      } else if (this.#take('operator', '(') !== undefined) {
        const args = this.#arguments();
        if (tree.kind === 'name') tree = { kind: 'call', start, of: undefined, name: tree.name, args };
        else if (tree.kind === 'field') tree = { kind: 'call', start, of: tree.of, name: tree.name, args };
        else throw new TextError(start, 'this cannot be called', 'remove the brackets after it');
      } else return tree;
    }
  }

  /** Parses arguments, after the opening bracket. */
  #arguments(): BraceArguments {
    const plain: BraceTree[] = [];
    const named = new Map<string, BraceTree>();
    while (this.#take('operator', ')') === undefined) {
      const [first, second] = this.#tokens.slice(this.#at, this.#at + 2);
      if (first?.kind === 'name' && second?.kind === 'operator' && second.text === '=') {
        this.#at += 2;
        named.set(first.text, this.expression());
      } else plain.push(this.expression());
      if (this.#take('operator', ',') === undefined && this.#tokens[this.#at]?.text !== ')') this.#need(')');
    }
    return { plain, named };
  }

  #items(closer: string): readonly BraceTree[] {
    const items: BraceTree[] = [];
    while (this.#take('operator', closer) === undefined) {
      items.push(this.expression());
      if (this.#take('operator', ',') === undefined && this.#tokens[this.#at]?.text !== closer) this.#need(closer);
    }
    return items;
  }

  #map(start: number): BraceTree {
    const entries: (readonly [BraceTree, BraceTree])[] = [];
    while (this.#take('operator', '}') === undefined) {
      const key = this.expression();
      this.#need(':');
      entries.push([key, this.expression()]);
      if (this.#take('operator', ',') === undefined && this.#tokens[this.#at]?.text !== '}') this.#need('}');
    }
    return { kind: 'map', start, entries };
  }

  #primary(): BraceTree {
    const { offset: start } = this;
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new TextError(start, 'a value is missing', 'write one here');
    this.#at += 1;
    if (token.kind === 'string') return { kind: 'string', start, value: token.text };
    if (token.kind === 'number') return { kind: 'number', start, text: token.text };
    if (token.kind === 'name') return { kind: 'name', start, name: token.text };
    if (token.text === '[') return { kind: 'list', start, items: this.#items(']') };
    if (token.text === '{') return this.#map(start);
    if (token.text !== '(') throw new TextError(start, `${token.text} stands where a value is wanted`, 'remove it');
    const first = this.expression();
    if (this.#take('operator', ',') !== undefined) return { kind: 'list', start, items: [first, ...this.#items(')')] };
    this.#need(')');
    return first;
  }
}

const noArguments: BraceArguments = { plain: [], named: new Map() };

/** Parses tokens to a tree. @param end - offset of their end, for messages. @throws TextError */
export function readBraceTree(tokens: readonly BraceToken[], end: number): BraceTree {
  const reader = new TreeReader(tokens, end);
  const tree = reader.expression();
  if (!reader.isAtEnd) throw new TextError(reader.offset, 'the expression goes on where it should end', 'correct it');
  return tree;
}

/** Precedences of the parts of an expression, the lowest first. */
export const binding = {
  choice: 1,
  or: 2,
  and: 3,
  not: 4,
  comparison: 5,
  sum: 6,
  product: 7,
  sign: 8,
  part: 9,
} as const;

export interface BraceWriter {
  readonly out: MarkedText;
  readonly names: { readonly isInput: (name: string) => boolean };
  readonly warn: (start: number, message: string, fix: string) => void;
  /** Writes a tree, in brackets if its precedence is lower than `wanted`. Default: any precedence is accepted. */
  readonly value: (tree: BraceTree, wanted?: number) => void;
  /** Writes trees separated by commas. */
  readonly list: (trees: readonly BraceTree[]) => void;
}
