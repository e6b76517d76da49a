/**
 * Conditions and choices written as functions (G6). Their name and version are part of the graph's hash; their source only hints that code
 * changed.
 */
import { CairnError } from '../errors.ts';
import type { Choice, Condition, ConditionScope } from './graph.ts';

export interface FunctionNaming {
  /** Name of the function in messages and in the graph's hash. Default: the function's own name. */
  readonly text?: string;
  /** Change this when the function's meaning changes; it is part of the graph's hash. */
  readonly version?: string;
}

const sources = new WeakMap<object, string>();

/** The source of the function that a condition, choice or reducer was made from. Only a hint that code changed. */
export function sourceOf(code: (...parameters: never[]) => unknown): string {
  return sources.get(code) ?? String(code);
}

const naming = (code: { readonly name: string }, options: FunctionNaming): FunctionNaming => ({
  text: options.text ?? (code.name === '' ? 'function' : code.name),
  ...(options.version === undefined ? {} : { version: options.version }),
});

/**
 * Makes a condition from a pure function that returns true or false (G6). Its `evaluate` throws CONDITION_FAILED for any other value, and
 * passes on what the function throws.
 */
export function functionCondition(fn: (scope: ConditionScope) => boolean, options: FunctionNaming = {}): Condition {
  const named = naming(fn, options);
  const evaluate = (scope: ConditionScope): boolean => requireBoolean(fn(scope), named.text ?? '');
  sources.set(evaluate, String(fn));
  return { ...named, text: named.text ?? '', evaluate };
}

/** Makes a choice from a pure function that returns the label, or labels, of the edges that fire (G5). */
export function functionChoice(
  fn: (scope: ConditionScope) => string | readonly string[],
  options: FunctionNaming = {},
): Choice {
  const named = naming(fn, options);
  const choose = (scope: ConditionScope): string | readonly string[] => fn(scope);
  sources.set(choose, String(fn));
  return { ...named, text: named.text ?? '', choose };
}

/**
 * Returns the value if it is a boolean. Other truthy or falsy values, such as `0n` or `'no'`, are mistakes in a condition. @throws
 * CONDITION_FAILED
 */
export function requireBoolean(value: unknown, text: string): boolean {
  if (typeof value === 'boolean') return value;
  const found = value === null ? 'null' : value instanceof Promise ? 'a promise' : typeof value;
  throw new CairnError('CONDITION_FAILED', { node: 'a node', reason: `${text} gives ${found}, not true or false` });
}
