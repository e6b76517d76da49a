/**
 * Makes every node of a checked expression pay for its work before doing it (T13). The expression library evaluates a tree by calling
 * `evaluate` of each node and, for operators and functions, the `handle` that the type check bound. Both are wrapped here.
 */
import { FileRef } from '../file-ref.ts';
import { isPlainObject } from '../canonical.ts';
import { currentBudget, type Budget } from './expression-budget.ts';
import type { Tree } from './expression-references.ts';

// Converts values on their way into expressions and out of them.

/** A map that reads an entry only when an expression asks for it. An undefined entry counts as absent. */
export class FieldReader extends Map<unknown, unknown> {
  readonly #read: (key: string | number) => unknown;
  /** Returns the value that replaces the map when it leaves the expression. */
  readonly plain: () => unknown;

  constructor(read: (key: string | number) => unknown, plain: () => unknown) {
    super();
    this.#read = read;
    this.plain = plain;
  }

  override get(key: unknown): unknown {
    if (typeof key === 'bigint') return this.#read(Number(key));
    return typeof key === 'string' || typeof key === 'number' ? this.#read(key) : undefined;
  }
}

const dataClasses = [Date, Uint8Array, Map, Set, URL, Error, FileRef] as const;

/**
 * The result of an expression as plain data: bigints become numbers where that is safe, and readers become what they stand for. Parts that
 * need no change are shared with the original.
 * @throws Error the result is not data (a duration, a type)
 */
export function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof FieldReader) return value.plain();
  if (Array.isArray(value)) {
    const items: unknown[] = value.map(plainValue);
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (isPlainObject(value)) {
    const entries = Object.entries(value).map(([key, item]) => [key, plainValue(item)] as const);
    return entries.some(([key, item]) => item !== value[key]) ? Object.fromEntries(entries) : value;
  }
  if (dataClasses.some((known) => value instanceof known)) return value;
  throw new Error(`it gives a ${value.constructor.name}, which is no value of a workflow`);
}

/** An error as expressions see it: a map, since expressions know no classes; null if there is no error. */
export function errorMap(error: Error | undefined): Readonly<Record<string, unknown>> | null {
  if (error === undefined) return null;
  const { code, data } = error as { readonly code?: unknown; readonly data?: unknown };
  return { name: error.name, message: error.message, code: code ?? null, data: data ?? null };
}

/** Replacer for JSON.stringify: converts values that JSON cannot express. */
function jsonItem(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof FieldReader) return value.plain();
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  if (value instanceof Error) return errorMap(value);
  if (value instanceof Uint8Array) throw new Error('bytes have no text; name a field that holds text');
  return value;
}

/** Compact JSON of a value. Dates are written in ISO form, maps as objects. @throws Error it contains bytes */
export function jsonText(value: unknown, indent?: number): string {
  return JSON.stringify(value, jsonItem, indent) ?? 'null';
}

/**
 * A value as it appears inside a text: strings unchanged, null as nothing, dates in ISO form, everything else as compact JSON.
 * @throws Error it is or contains bytes
 */
export function renderText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString();
  if (value instanceof URL) return value.href;
  return jsonText(value);
}

type Evaluate = (evaluator: Evaluator, tree: unknown, context: unknown) => unknown;
type Handle = (...parameters: readonly unknown[]) => unknown;

interface Evaluator {
  readonly mapType: unknown;
  debugType: (value: unknown) => unknown;
  debugTypeDeep: (value: unknown) => unknown;
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

/** Estimated bytes of an item of a list, and of an entry of a map. */
const bytesPerItem = 32;
const bytesPerEntry = 64;

/** Keys that a map written in an expression must not have, because the library drops them. */
const unwritable = ['__proto__', 'constructor', 'prototype'];

/**
 * Pays for visiting everything inside a value. Shared parts are paid for each time: they take little memory, but may be endless when
 * written out.
 */
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

/** The size of a value: its characters, items, entries or bytes. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value) || value instanceof Uint8Array) return value.length;
  if (value instanceof FieldReader) return sizeOf(value.plain());
  if (value instanceof Map || value instanceof Set) return value.size;
  return typeof value === 'object' && value !== null && isPlainObject(value) ? Object.keys(value).length : 1;
}

/** Steps for each key of a map that is counted: the library lists all keys to count them. */
const stepsPerKey = 4;

/** Pays for looking at texts and at the items of lists, but not into the items. */
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

/** Functions that write out everything in their arguments. */
const writers: readonly string[] = ['json', 'text_', 'join', 'urlencode'];

/** Functions that search for one value in another. */
const searches: readonly string[] = ['contains', 'indexOf', 'lastIndexOf', 'split', 'in'];

/** Pays for what some functions cost in addition to looking at their arguments. */
function payForFunction(name: string, [first, second]: readonly unknown[], budget: Budget): void {
  if (name === 'join' && typeof second === 'string') budget.takeBytes(sizeOf(first) * second.length);
  if (searches.includes(name) && typeof first === 'string' && typeof second === 'string') {
    budget.takeSteps(Math.floor((first.length * second.length) / 512));
  }
  // The library parses durations by trying every position, and converts dates with a time zone by way of text.
  if (name === 'duration') budget.takeSteps(sizeOf(first) ** 3 / 100);
  if (name.startsWith('get') && second !== undefined) budget.takeSteps(1_000);
}

function payForCall(name: string, args: readonly unknown[], budget: Budget): void {
  payForFunction(name, args, budget);
  const [left, right] = args;
  if (name === 'size' && Array.isArray(left)) return;
  if (writers.includes(name)) payForWhole(args, budget);
  else if (name === 'in' && (Array.isArray(right) || right instanceof Set)) payForWhole(args, budget);
  else if (name === 'in') payForParts([left, typeof right === 'string' ? right : null], budget);
  else if ((name === '==' || name === '!=') && isWhole(left) && isWhole(right)) payForWhole(args, budget);
  else payForParts(args, budget);
}

const isWhole = (value: unknown): boolean => typeof value === 'object' && value !== null;

const isCall = (op: string): boolean => op === 'call' || op === 'rcall';
const isAccess = (op: string): boolean => ['.', '.?', '[]', '[?]'].includes(op);

/** Whether a plain object has a key `constructor`. The library would mistake that key's value for the object's class. */
const hidesClass = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, 'constructor') && isPlainObject(value);

function meteredHandle(tree: MeteredTree, handle: Handle): Handle {
  const { op } = tree;
  const name = isCall(op) ? ((tree.args as readonly unknown[])[0] as string) : op;
  if (isCall(op)) {
    return (first, ...others) => {
      const budget = currentBudget();
      payForCall(name, first as readonly unknown[], budget);
      return payForResult(handle(first, ...others), budget);
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
    // A unary operator gets the tree as its second argument, not a value.
    const budget = currentBudget();
    payForCall(name, isMetered(right) ? [left] : [left, right], budget);
    const value = handle(left, right, ...others);
    return op === '+' ? payForResult(value, budget) : value;
  };
}

/** Bytes of the list or map that a node itself creates. What functions and operators return is counted elsewhere. */
function bytesOf({ op, args }: Tree): number {
  if (op === 'accuPush') return bytesPerItem;
  if (op === 'list') return bytesPerItem * (args as readonly unknown[]).length;
  return op === 'map' ? bytesPerEntry * (args as readonly unknown[]).length : 0;
}

/**
 * Corrects how the library finds the type of a value. That of a list or map, it takes from the first item; one whose first item is of no
 * type that it knows (undefined, an error) is a list or map of anything.
 */
function withTypes(evaluator: Evaluator): void {
  if (Object.hasOwn(evaluator, 'debugType')) return;
  const typeOf = evaluator.debugType.bind(evaluator);
  const deepTypeOf = evaluator.debugTypeDeep.bind(evaluator);
  evaluator.debugType = (value) => (hidesClass(value) ? evaluator.mapType : typeOf(value));
  evaluator.debugTypeDeep = (value) => {
    const type = evaluator.debugType(value);
    try {
      return deepTypeOf(value);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === 'unsupported_type') return type;
      throw error;
    }
  };
}

/** The error that was paid for last. An error passes through every node around its origin, and is paid for once. */
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
    withTypes(evaluator);
    try {
      return next.evaluate(evaluator, subject, context);
    } catch (error) {
      // Errors cost too: each one quotes its place in the text, and a condition may catch it and try the next item.
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
 * Wraps a checked tree so that its evaluation is paid for. Evaluate it within `withBudget`.
 * @throws Error the tree writes a map with a key that the library would drop
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
