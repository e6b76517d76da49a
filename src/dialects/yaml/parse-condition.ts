/** A condition: an expression as a whole, each `${…}` in it a part of it and never text put in its place (T5). */
import { CairnError } from '../../errors.ts';
import { compileReference, reportError, type CompiledReference } from './compile-reference.ts';
import { readExpression } from './expression-tokens.ts';
import { findForeignForms } from './foreign-forms.ts';
import { faultyTemplate } from './parse-text.ts';
import { createMentions, namedBy } from './resolve-names.ts';
import type { Names, ParseCondition, Scope, Template, TextFault } from './template.ts';

function compile(text: string, names: Names, faults: TextFault[], mentions = createMentions()): Template<boolean> {
  let compiled: CompiledReference | undefined;
  try {
    const tokens = readExpression(text);
    if (tokens.length === 0) {
      faults.push({ offset: 0, rule: 'T5', message: 'the condition is empty', fix: 'write one, or remove it' });
    } else compiled = compileReference(tokens, text, { names, mentions, faults });
  } catch (error) {
    reportError(faults, error);
  }
  const named = namedBy(mentions);
  if (compiled === undefined) return faultyTemplate(text, named);
  const { type, secret, isConstant, evaluate } = compiled;
  if (secret !== undefined || (type !== 'bool' && type !== 'dyn')) {
    const message =
      secret === undefined ? `the condition gives ${type}, not true or false` : 'a secret is no condition';
    faults.push({ offset: 0, rule: 'T5', message, fix: 'compare it with something: … == …' });
    return faultyTemplate(text, named);
  }
  const test = (scope: Scope): boolean => {
    const value = evaluate(scope);
    if (typeof value === 'boolean') return value;
    const found =
      value === null
        ? 'null'
        : Array.isArray(value)
          ? 'a list'
          : typeof value === 'object'
            ? 'a map'
            : `a ${typeof value}`;
    throw new CairnError('EXPRESSION_FAILED', { text, reason: `it gives ${found}, not true or false` });
  };
  return { named, isLiteral: isConstant, evaluate: test };
}

/** Parses a condition: `"${a.exit_code} == 0 and not ${b.confirmed}"`, or the same without `${}`. */
export const parseCondition: ParseCondition = (text, names) => {
  const faults: TextFault[] = [...findForeignForms(text)];
  const template = faults.length > 0 ? faultyTemplate(text) : compile(text, names, faults);
  return { template, faults };
};
