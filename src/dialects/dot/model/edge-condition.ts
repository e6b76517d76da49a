/** The conditions of edges: clauses of `key=value` and `key!=value`, joined by `&&`. */
import { operatorElsewhere } from './other-engines.ts';

export interface Clause {
  readonly key: string;
  /** `set` stands for a key alone: the clause holds if its value is not empty. */
  readonly operator: '=' | '!=' | 'set';
  readonly value: string;
}

export type ParsedCondition =
  | { readonly clauses: readonly Clause[]; readonly fault?: undefined }
  | { readonly clauses?: undefined; readonly fault: string; readonly offset: number };

const gap = /\s*/y;
const key = /[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}\p{N}_]+)*/uy;
const operator = /!=|==?/y;
const literal = /"([^"\\]*(?:\\[^][^"\\]*)*)"|'([^']*)'|([\p{L}\p{N}_.:+-]+)/uy;

/** Parses a condition. Quoted strings may hold anything, `&&` and `!=` included. An empty condition has no clauses, and always holds. */
export function parseCondition(text: string): ParsedCondition {
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return undefined;
    at += found[0].length;
    return found;
  };
  const refuse = (fault: string): ParsedCondition => ({ fault, offset: at });
  const clauses: Clause[] = [];
  let isJoined = true;
  for (;;) {
    take(gap);
    if (at >= text.length) return { clauses };
    if (text.startsWith('&&', at)) {
      at += 2;
      isJoined = true;
      continue;
    }
    const elsewhere = operatorElsewhere(text.slice(at));
    if (elsewhere !== undefined && (!isJoined || /^[|!<>]/.test(text.slice(at)))) return refuse(elsewhere);
    if (!isJoined) return refuse('clauses are joined by &&; there is no other operator');
    isJoined = false;
    const name = take(key)?.[0];
    if (name === undefined) return refuse('expected outcome, preferred_label or context.KEY');
    take(gap);
    const sign = take(operator)?.[0];
    if (sign === undefined) {
      clauses.push({ key: name, operator: 'set', value: '' });
      continue;
    }
    if (sign === '==') return refuse('write = for equality');
    take(gap);
    const value = take(literal);
    if (value === undefined) return refuse(`expected a value after ${sign}`);
    const [, double, single, bare] = value;
    const unescaped = double?.replaceAll(/\\(.)/gs, (_, mark: string) =>
      mark === 'n' ? '\n' : mark === 't' ? '\t' : mark,
    );
    clauses.push({ key: name, operator: sign === '!=' ? '!=' : '=', value: unescaped ?? single ?? bare ?? '' });
  }
}

/** The values that conditions are evaluated with. */
export interface ConditionFacts {
  readonly outcome: string;
  readonly preferredLabel: string;
  /** A context value as text, `` if there is none. */
  readonly context: (key: string) => string;
}

export function holds(clauses: readonly Clause[], facts: ConditionFacts): boolean {
  return clauses.every(({ key: name, operator: sign, value }) => {
    const actual = valueOf(name, facts);
    if (sign === 'set') return actual !== '';
    return sign === '=' ? actual === value : actual !== value;
  });
}

function valueOf(name: string, { outcome, preferredLabel, context }: ConditionFacts): string {
  if (name === 'outcome') return outcome;
  if (name === 'preferred_label') return preferredLabel;
  if (!name.startsWith('context.')) return context(name);
  return context(name) || context(name.slice('context.'.length));
}
