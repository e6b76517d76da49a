/** Parses a condition. It is one expression, and each `${…}` in it is a part of it, never text to be inserted (T5). */
import { CairnError } from '../../../errors.ts';
import type { ExpressionReference } from '../../../graph/expression/expression-references.ts';
import { compileReference, reportError, type CompiledReference } from './parse-text.ts';
import { readExpression } from './tokens.ts';
import {
  faultyTemplate,
  type Names,
  type ParsedTemplate,
  type Scope,
  type Template,
  type TextFault,
} from './template.ts';
import { createMentions, isListed, nameOf, namedBy } from './resolve-names.ts';

/** Names the type of a value that is not a boolean, for messages. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`;
}

/** The type of what a condition consists of, if it is only an input or a block's field. */
function typeOfWhole(reference: ExpressionReference, names: Names): string | undefined {
  const first = nameOf(reference);
  const rest = reference.path.map(({ key }) => key);
  if (first === 'inputs') return rest.length === 1 ? names.typeOf?.(String(rest[0]), undefined) : undefined;
  if (first === 'blocks') return typeOfField(String(rest[0]), rest.slice(1), names);
  if (isListed(names.inputs, first)) return rest.length === 0 ? names.typeOf?.(first, undefined) : undefined;
  return typeOfField(first, rest, names);
}

function typeOfField(block: string, path: readonly unknown[], names: Names): string | undefined {
  const fields = path[0] === 'outputs' ? path.slice(1) : path;
  const [field, ...deeper] = fields;
  return deeper.length === 0 && typeof field === 'string' ? names.typeOf?.(block, field) : undefined;
}

function compile(text: string, names: Names, faults: TextFault[]): Template<boolean> {
  const mentions = createMentions();
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
  const { type, secret, whole, isConstant, evaluate } = compiled;
  if (secret !== undefined || (type !== 'bool' && type !== 'dyn')) {
    const message =
      secret === undefined ? `the condition gives ${type}, not true or false` : 'a secret is no condition';
    faults.push({ offset: 0, rule: 'T5', message, fix: 'compare it with something: … == …' });
    return faultyTemplate(text, named);
  }
  const known = whole === undefined ? undefined : typeOfWhole(whole, names);
  if (known !== undefined && known !== 'boolean') {
    const message = `the condition is a value of type ${known}, not true or false`;
    faults.push({ offset: 0, rule: 'T5', message, fix: 'compare it with something: … == …, or ask truthy(…)' });
    return faultyTemplate(text, named);
  }
  const test = (scope: Scope): boolean => {
    const value = evaluate(scope);
    if (typeof value === 'boolean') return value;
    throw new CairnError('EXPRESSION_FAILED', { text, reason: `it gives ${kindOf(value)}, not true or false` });
  };
  return { named, isLiteral: isConstant, evaluate: test };
}

/** Parses a condition: `"${a.exit_code} == 0 and not ${b.confirmed}"`, or the same without `${}`. */
export function parseCondition(text: string, names: Names): ParsedTemplate<boolean> {
  const faults: TextFault[] = [];
  const template = compile(text, names, faults);
  return { template, faults };
}
