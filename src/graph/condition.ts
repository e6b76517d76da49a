/** Conditions and choices written as functions (G6). Their text and version are hashed; their source is only a hint. */
import { CairnError } from '../errors.ts';
import type { Choice, Condition, ConditionScope } from './graph.ts';

export interface FunctionNaming {
  /** Names the function in messages and in the graph's hash. Default: the function's own name. */
  readonly text?: string;
  /** Change it when the function's meaning changes: it is part of the graph's hash. */
  readonly version?: string;
}

const sources = new WeakMap<object, string>();

/** The source of the function that a condition, choice or reducer was made from; a hint that code changed, never more. */
export function sourceOf(code: (...parameters: never[]) => unknown): string {
  return sources.get(code) ?? String(code);
}

const naming = (code: { readonly name: string }, given: FunctionNaming): FunctionNaming => ({
  text: given.text ?? (code.name === '' ? 'function' : code.name),
  ...(given.version === undefined ? {} : { version: given.version }),
});

/**
 * A condition from a pure function that returns true or false (G6).
 * Its `evaluate` throws CONDITION_FAILED for any other value; what the function throws passes through.
 */
export function functionCondition(fn: (scope: ConditionScope) => boolean, given: FunctionNaming = {}): Condition {
  const named = naming(fn, given);
  const evaluate = (scope: ConditionScope): boolean => requireBoolean(fn(scope), named.text ?? '');
  sources.set(evaluate, String(fn));
  return { ...named, text: named.text ?? '', evaluate };
}

/** A choice from a pure function that returns the label, or labels, of the edges that fire (G5). */
export function functionChoice(
  fn: (scope: ConditionScope) => string | readonly string[],
  given: FunctionNaming = {},
): Choice {
  const named = naming(fn, given);
  const choose = (scope: ConditionScope): string | readonly string[] => fn(scope);
  sources.set(choose, String(fn));
  return { ...named, text: named.text ?? '', choose };
}

/** Truthiness is refused: a condition that yields `0n` or `'no'` is a mistake, not an answer. @throws CONDITION_FAILED */
export function requireBoolean(value: unknown, text: string): boolean {
  if (typeof value === 'boolean') return value;
  const found = value === null ? 'null' : value instanceof Promise ? 'a promise' : typeof value;
  throw new CairnError('CONDITION_FAILED', { node: 'a node', reason: `${text} gives ${found}, not true or false` });
}
