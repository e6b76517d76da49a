/**
 * Makes every node of a checked expression pay for what it does, before it does it (T13). The language evaluates a tree by
 * calling `evaluate` of its nodes and, for operators and functions, the `handle` that their check has bound: both are wrapped.
 */
import { currentBudget, type Budget } from './expression-budget.ts';
import type { Tree } from './expression-references.ts';
import { errorMap, FieldReader } from './expression-values.ts';
import { isPlainObject } from '../canonical.ts';

type Evaluate = (evaluator: Evaluator, tree: unknown, context: unknown) => unknown;
type Handle = (...parameters: readonly unknown[]) => unknown;

interface Evaluator {
  readonly mapType: unknown;
  debugType: (value: unknown) => unknown;
}
interface Delegate {
  readonly evaluate: Evaluate;
}
interface MeteredTree extends Tree {
  readonly meta: { readonly evaluate: Evaluate; readonly alternate?: MeteredTree; readonly macro?: Delegate };
  readonly input: string;
  evaluate: Evaluate;
  handle?: Handle;
}

const isMetered = (value: unknown): value is MeteredTree =>
  typeof value === 'object' && value !== null && 'op' in value && 'meta' in value;

/** What a list's place and a map's entry take. */
const bytesPerItem = 32;
const bytesPerEntry = 64;

/** The keys with which the language can make no map. */
const unwritable = ['__proto__', 'constructor', 'prototype'];

/** Pays for a look at all that a value holds, as often as it holds it: what is shared is small in memory, and endless written out. */
export function payForWhole(value: unknown, budget: Budget): void {
  budget.takeSteps(1);
  if (typeof value === 'string') budget.takeText(value.length);
  if (typeof value !== 'object' || value === null) return;
  if (value instanceof FieldReader) payForWhole(value.plain(), budget);
  else if (value instanceof Error) payForWhole(errorMap(value), budget);
  else if (Array.isArray(value) || value instanceof Set) {
    for (const item of value as Iterable<unknown>) payForWhole(item, budget);
  } else if (value instanceof Map || isPlainObject(value)) {
    for (const [key, item] of value instanceof Map ? value : Object.entries(value)) {
      payForWhole(key, budget);
      payForWhole(item, budget);
    }
  } else budget.takeSteps(sizeOf(value));
}

/** Characters, items, entries or bytes. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value) || value instanceof Uint8Array) return value.length;
  if (value instanceof FieldReader) return sizeOf(value.plain());
  if (value instanceof Map || value instanceof Set) return value.size;
  return typeof value === 'object' && value !== null && isPlainObject(value) ? Object.keys(value).length : 1;
}

/** The language counts the keys of a map by listing them. */
const stepsPerKey = 4;

/** Pays for a look at a text or at each item of a list, not at what those hold. */
function payForParts(values: readonly unknown[], budget: Budget): void {
  for (const value of values) {
    if (typeof value === 'string') budget.takeText(value.length);
    else if (isWhole(value)) budget.takeSteps(sizeOf(value) * (Array.isArray(value) ? 1 : stepsPerKey));
  }
}

function payForResult<T>(value: T, budget: Budget): T {
  if (typeof value === 'string') budget.takeBytes(value.length);
  else if (typeof value === 'object' && value !== null) {
    budget.takeSteps(sizeOf(value));
    budget.takeBytes(bytesPerItem * sizeOf(value));
  }
  return value;
}

/** Functions that write out all that they are given. */
const writers: readonly string[] = ['json', 'text_', 'join', 'urlencode'];

/** Functions that look for one text in another: at each place, at most so much of what is sought is looked at again. */
const searches: readonly string[] = ['contains', 'indexOf', 'lastIndexOf', 'split', 'in'];

/** What some functions cost beyond a look at what they are given. */
function payForFunction(name: string, [first, second]: readonly unknown[], budget: Budget): void {
  if (name === 'join' && typeof second === 'string') budget.takeBytes(sizeOf(first) * second.length);
  if (searches.includes(name) && typeof first === 'string' && typeof second === 'string') {
    budget.takeSteps(Math.floor((first.length * second.length) / 512));
  }
  // The language reads durations by trying each place, and dates of a time zone by way of a text.
  if (name === 'duration') budget.takeSteps(sizeOf(first) ** 3 / 100);
  if (name.startsWith('get') && second !== undefined) budget.takeSteps(1_000);
}

function payForCall(name: string, given: readonly unknown[], budget: Budget): void {
  payForFunction(name, given, budget);
  const [left, right] = given;
  if (name === 'size' && Array.isArray(left)) return;
  if (writers.includes(name)) payForWhole(given, budget);
  else if (name === 'in' && (Array.isArray(right) || right instanceof Set)) payForWhole(given, budget);
  else if (name === 'in') payForParts([left, typeof right === 'string' ? right : null], budget);
  else if ((name === '==' || name === '!=') && isWhole(left) && isWhole(right)) payForWhole(given, budget);
  else payForParts(given, budget);
}

const isWhole = (value: unknown): boolean => typeof value === 'object' && value !== null;

const isCall = (op: string): boolean => op === 'call' || op === 'rcall';
const isAccess = (op: string): boolean => ['.', '.?', '[]', '[?]'].includes(op);

/** A key `constructor` of a value is taken for its class by the language. */
const hidesClass = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, 'constructor') && isPlainObject(value);

function meteredHandle(tree: MeteredTree, handle: Handle): Handle {
  const { op } = tree;
  const name = isCall(op) ? ((tree.args as readonly unknown[])[0] as string) : op;
  if (isCall(op)) {
    return (given, ...others) => {
      const budget = currentBudget();
      payForCall(name, given as readonly unknown[], budget);
      return payForResult(handle(given, ...others), budget);
    };
  }
  if (isAccess(op)) {
    return (left, key, ...others) => {
      if (left instanceof Set) currentBudget().takeSteps(left.size);
      const value = hidesClass(left) && Object.hasOwn(left, key as string) ? left[key as string] : undefined;
      if (value !== undefined && !op.includes('?')) return value;
      return handle(hidesClass(left) ? new Map(Object.entries(left)) : left, key, ...others);
    };
  }
  if (op === 'comprehension') {
    return (items, ...others) => {
      payForParts([items], currentBudget());
      return handle(items, ...others);
    };
  }
  return (left, right, ...others) => {
    // Of an operator with one side, the second parameter is the tree.
    const budget = currentBudget();
    payForCall(name, isMetered(right) ? [left] : [left, right], budget);
    const value = handle(left, right, ...others);
    return op === '+' ? payForResult(value, budget) : value;
  };
}

/** What a node makes, besides what a function or an operator gives. */
function bytesOf({ op, args }: Tree): number {
  if (op === 'accuPush') return bytesPerItem;
  if (op === 'list') return bytesPerItem * (args as readonly unknown[]).length;
  return op === 'map' ? bytesPerEntry * (args as readonly unknown[]).length : 0;
}

function withClasses(evaluator: Evaluator): void {
  if (Object.hasOwn(evaluator, 'debugType')) return;
  const typeOf = evaluator.debugType.bind(evaluator);
  evaluator.debugType = (value) => (hidesClass(value) ? evaluator.mapType : typeOf(value));
}

/** It passes through each node around it, and is paid for once. */
let lastError: unknown;

function meteredEvaluate(tree: MeteredTree): Evaluate {
  const { meta, input } = tree;
  const bytes = bytesOf(tree);
  const next: { readonly evaluate: Evaluate } = meta.alternate ?? meta.macro ?? meta;
  const subject = next === meta ? tree : next;
  return (evaluator, _tree, context) => {
    const budget = currentBudget();
    budget.takeSteps(1);
    if (bytes > 0) budget.takeBytes(bytes);
    withClasses(evaluator);
    try {
      return next.evaluate(evaluator, subject, context);
    } catch (error) {
      // An error shows its place in the text, and a condition may try the next item after it.
      if (error !== lastError && error !== budget.refusal) {
        lastError = error;
        budget.takeSteps(100 + Math.floor(input.length / 4));
      }
      throw error;
    }
  };
}

function refuseUnwritable(tree: MeteredTree): void {
  for (const [key] of tree.args as readonly (readonly [Tree, Tree])[]) {
    if (key.op !== 'value' || !unwritable.includes(key.args as string)) continue;
    throw new Error(`a map that is written in an expression can have no key ${JSON.stringify(key.args)}`);
  }
}

/**
 * Lets a checked tree pay for its evaluation, which is to stand within `withBudget`.
 * @throws Error it writes a map with a key that the language would drop
 */
export function meter(root: unknown): void {
  const seen = new Set<unknown>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    if (Array.isArray(value)) value.forEach(visit);
    else if (isMetered(value)) {
      if (value.op === 'map') refuseUnwritable(value);
      if (value.handle !== undefined) value.handle = meteredHandle(value, value.handle);
      visit(value.args);
      visit(value.meta.alternate);
      value.evaluate = meteredEvaluate(value);
    } else if (isPlainObject(value)) Object.values(value).forEach(visit);
  };
  visit(root);
}
