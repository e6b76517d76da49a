/** Writes an expression of the `{{ }}` form in this version's syntax. It has the same value and is checked by the same rules. */
import { nearest } from '../../../graph/nearest.ts';
import { TextError } from '../expression/tokens.ts';
import { namespaces } from '../expression/resolve-names.ts';
import { writeCall } from './brace-functions.ts';
import { type BraceTree, binding, type BraceWriter } from './brace-writer.ts';
import { type MarkedText, quoted } from './quoted.ts';

/** What the names in an expression mean. */
export interface BraceNames {
  /** The declared type of an input. */
  readonly typeOf: (input: string) => string | undefined;
  readonly isInput: (name: string) => boolean;
  /** The variables of a template, with the expression for each. */
  readonly variables: ReadonlyMap<string, string>;
}

const literals: ReadonlyMap<string, string> = new Map([
  ['true', 'true'],
  ['True', 'true'],
  ['false', 'false'],
  ['False', 'false'],
  ['none', 'null'],
  ['None', 'null'],
  ['null', 'null'],
]);
const standings: readonly string[] = ['succeeded', 'failed', 'skipped'];
/** Fields of `metadata` by their names in the other form. */
const metadataNames: ReadonlyMap<string, string> = new Map(
  Object.entries({
    execution_id: 'run_id',
    start_time: 'started_at',
    scratch_dir: 'tmp',
  }),
);
const predicates: readonly string[] = ['startswith', 'endswith', 'contains'];

export class ExpressionWriter implements BraceWriter {
  readonly out: MarkedText;
  readonly names: BraceNames;
  readonly warn: BraceWriter['warn'];

  constructor(out: MarkedText, names: BraceNames, warn: BraceWriter['warn']) {
    this.out = out;
    this.names = names;
    this.warn = warn;
  }

  /** Writes a tree, in brackets if its precedence is lower than `wanted`. */
  value(tree: BraceTree, wanted: number = binding.choice): void {
    const own = bindingOf(tree, (one) => this.isFlag(one));
    if (own < wanted) this.out.add('(', tree.start);
    this.#plain(tree);
    if (own < wanted) this.out.add(')', tree.start);
  }

  /** Writes a tree where a boolean is required: other values count as true unless they are empty. */
  test(tree: BraceTree, wanted: number = binding.choice): void {
    const isJoined = tree.kind === 'binary' && (tree.operator === 'and' || tree.operator === 'or');
    if (isJoined) {
      const own = tree.operator === 'and' ? binding.and : binding.or;
      if (own < wanted) this.out.add('(', tree.start);
      this.test(tree.left, own);
      this.out.add(` ${tree.operator} `, tree.right.start);
      this.test(tree.right, own + 1);
      if (own < wanted) this.out.add(')', tree.start);
    } else if (this.isFlag(tree)) this.value(tree, wanted);
    else {
      this.out.add('truthy(', tree.start);
      this.value(tree);
      this.out.add(')', tree.start);
    }
  }

  /** Values between commas. */
  list(trees: readonly BraceTree[]): void {
    for (const [index, tree] of trees.entries()) {
      if (index > 0) this.out.add(', ', tree.start);
      this.value(tree);
    }
  }

  /** Whether a tree is known to be a boolean. */
  isFlag(tree: BraceTree): boolean {
    switch (tree.kind) {
      case 'comparison':
      case 'test':
      case 'not':
        return true;
      case 'binary':
        return (tree.operator === 'and' || tree.operator === 'or') && this.isFlag(tree.left) && this.isFlag(tree.right);
      case 'choice':
        return tree.no !== undefined && this.isFlag(tree.yes) && this.isFlag(tree.no);
      case 'name':
        return ['true', 'false'].includes(tree.name.toLowerCase());
      case 'call':
        return tree.of !== undefined && predicates.includes(tree.name);
      case 'field':
        return this.#isFlagField(tree.of, tree.name);
      default:
        return false;
    }
  }

  #isFlagField(of: BraceTree, name: string): boolean {
    if (of.kind === 'name' && of.name === 'inputs') return ['bool', 'boolean'].includes(this.names.typeOf(name) ?? '');
    return standings.includes(name) && (of.kind === 'field' || of.kind === 'item') && isNamed(of.of, 'blocks');
  }

  #plain(tree: BraceTree): void {
    const { out } = this;
    switch (tree.kind) {
      case 'string':
        return out.add(quoted(tree.value), tree.start);
      case 'number':
        return out.add(tree.text, tree.start);
      case 'name':
        return this.#name(tree.name, tree.start);
      case 'field':
        return this.#field(tree);
      case 'item':
        return this.#item(tree);
      case 'call':
      case 'filter':
        return writeCall(this, tree);
      case 'test':
        return this.#kindTest(tree);
      case 'not':
        out.add('not ', tree.start);
        return this.test(tree.of, binding.comparison);
      case 'minus':
        out.add('-', tree.start);
        return this.value(tree.of, binding.part);
      case 'binary':
        return this.#binary(tree);
      case 'comparison':
        this.value(tree.first, binding.sum);
        for (const { operator, right } of tree.rest) {
          out.add(` ${operator} `, right.start);
          this.value(right, binding.sum);
        }
        return;
      case 'choice':
        this.test(tree.test, binding.or);
        out.add(' ? ', tree.yes.start);
        this.value(tree.yes, binding.or);
        out.add(' : ', tree.no?.start ?? tree.start);
        return tree.no === undefined ? out.add("''", tree.start) : this.value(tree.no);
      case 'list':
        out.add('[', tree.start);
        this.list(tree.items);
        return out.add(']', tree.start);
      default:
        out.add('{', tree.start);
        for (const [index, [key, value]] of tree.entries.entries()) {
          if (index > 0) out.add(', ', key.start);
          this.value(key);
          out.add(': ', value.start);
          this.value(value);
        }
        return out.add('}', tree.start);
    }
  }

  #name(name: string, start: number): void {
    const literal = literals.get(name);
    const variable = this.names.variables.get(name);
    if (variable !== undefined) this.out.add(variable, start);
    else if (literal !== undefined) this.out.add(literal, start);
    else if (namespaces.includes(name)) this.out.add(name, start);
    else if (name === 'tmp') this.out.add('metadata.tmp', start);
    else if (name === 'memory')
      throw new TextError(start, 'there is no memory here', 'read what is needed in a block, and name its output');
    else {
      const guess = nearest(name, [...namespaces, 'tmp', ...this.names.variables.keys()]);
      const fix = guess === undefined ? `write inputs.${name} or blocks.${name}.FIELD` : `did you mean ${guess}?`;
      throw new TextError(start, `there is no ${name} here`, fix);
    }
  }

  #field({ of, name, start }: Extract<BraceTree, { readonly kind: 'field' }>): void {
    if (isNamed(of, 'metadata')) return this.out.add(`metadata.${metadataNames.get(name) ?? name}`, start);
    this.value(of, binding.part);
    const isBlock = (of.kind === 'field' || of.kind === 'item') && isNamed(of.of, 'blocks');
    this.out.add(isBlock && name === 'outcome' ? '.metadata.outcome' : `.${name}`, start);
  }

  #item({ of, key, start }: Extract<BraceTree, { readonly kind: 'item' }>): void {
    this.value(of, binding.part);
    if (key.kind === 'string') return this.out.add(`[${JSON.stringify(key.value)}]`, key.start);
    this.out.add('[', start);
    // A negative index counts from the end.
    if (key.kind === 'minus' && key.of.kind === 'number') {
      this.out.add('size(', start);
      this.value(of);
      this.out.add(`) - ${key.of.text}`, key.start);
    } else this.value(key);
    this.out.add(']', start);
  }

  #kindTest({ of, name, isNot, start }: Extract<BraceTree, { readonly kind: 'test' }>): void {
    const { out } = this;
    if (name === 'none') {
      this.value(of, binding.sum);
      return out.add(isNot ? ' != null' : ' == null', start);
    }
    const isPresence = name === 'defined' || name === 'undefined';
    if (!isPresence)
      throw new TextError(start, `there is no test \`is ${name}\``, 'compare the value, or ask `is defined`');
    out.add((name === 'defined') === isNot ? 'not has(' : 'has(', start);
    this.value(of);
    out.add(')', start);
  }

  #binary({ operator, left, right, start }: Extract<BraceTree, { readonly kind: 'binary' }>): void {
    const { out } = this;
    if (operator === 'or' || operator === 'and') {
      const own = operator === 'and' ? binding.and : binding.or;
      if (this.isFlag(left) && this.isFlag(right)) {
        this.test(left, own);
        out.add(` ${operator} `, right.start);
        return this.test(right, own + 1);
      }
      if (operator === 'or') {
        out.add('default(', start);
        this.list([left, right]);
        return out.add(', true)', start);
      }
      return this.#allOf([...chainOf(left, 'and'), right]);
    }
    if (operator === '//') throw new TextError(start, 'there is no // here', 'write int(a / b)');
    if (operator === '~') return this.#joined([...chainOf(left, '~'), right], start);
    const level = operator === '+' || operator === '-' ? binding.sum : binding.product;
    // Integers that are written out or counted divide to integers here, but not in the other form.
    const isCounted = operator === '/' && !['field', 'item', 'name'].includes(left.kind);
    if (isCounted) {
      out.add('double(', start);
      this.value(left);
      out.add(')', start);
    } else this.value(left, level);
    out.add(` ${operator} `, right.start);
    this.value(right, level + 1);
  }

  /** The first of several values that is empty; if none is, the last. */
  #allOf([first, ...others]: readonly BraceTree[]): void {
    if (first === undefined) return;
    if (others.length === 0) return this.value(first, binding.or);
    this.test(first, binding.or);
    this.out.add(others.length > 1 ? ' ? (' : ' ? ', first.start);
    this.#allOf(others);
    this.out.add(others.length > 1 ? ') : ' : ' : ', first.start);
    this.value(first, binding.or);
  }

  /** `a ~ b`: texts joined. */
  #joined(all: readonly BraceTree[], start: number): void {
    this.out.add("'", start);
    for (const part of all) {
      if (part.kind === 'string') this.out.add(quoted(part.value).slice(1, -1), part.start);
      else {
        this.out.add('${', part.start);
        this.value(part);
        this.out.add('}', part.start);
      }
    }
    this.out.add("'", start);
  }
}

/** The operands of a chain of one operator. */
function chainOf(tree: BraceTree, operator: string): readonly BraceTree[] {
  const parts: BraceTree[] = [];
  let left = tree;
  for (; left.kind === 'binary' && left.operator === operator; left = left.left) parts.push(left.right);
  return [...parts, left].toReversed();
}

const isNamed = (tree: BraceTree, name: string): boolean => tree.kind === 'name' && tree.name === name;

/** The precedence of what is written for a tree. */
function bindingOf(tree: BraceTree, isFlag: (tree: BraceTree) => boolean): number {
  switch (tree.kind) {
    case 'choice':
      return binding.choice;
    case 'not':
      return binding.not;
    case 'comparison':
      return binding.comparison;
    case 'test':
      return tree.name === 'none'
        ? binding.comparison
        : tree.isNot === (tree.name === 'defined')
          ? binding.not
          : binding.part;
    case 'minus':
      return binding.sign;
    case 'binary':
      if (tree.operator === 'and' || tree.operator === 'or') {
        const own = tree.operator === 'and' ? binding.and : binding.or;
        return isFlag(tree) ? own : tree.operator === 'or' ? binding.part : binding.choice;
      }
      if (tree.operator === '~') return binding.part;
      return tree.operator === '+' || tree.operator === '-' ? binding.sum : binding.product;
    default:
      return binding.part;
  }
}
