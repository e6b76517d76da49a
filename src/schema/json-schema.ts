/** Validates values with JSON Schema, in the subset of docs/spec/waits.md (W3.3). */
import { currentBudget, Overdrawn, withBudget } from '../graph/expression/expression-budget.ts';
import { payForWhole } from '../graph/expression/expression-meter.ts';
import { fitsPattern } from '../graph/expression/pattern.ts';
import { canonicalText } from '../state/values/canonical-text.ts';
import { getOwn, type PlainObject } from '../state/values/plain-object.ts';
import { encodeValue } from '../state/values/encode.ts';
import { pointerTo, type Fault } from './json-pointer.ts';
import { resolvePointer } from './json-schema-defects.ts';

export { schemaDefect } from './json-schema-defects.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** A fault with the name of what is at fault, for sentences. */
interface NamedFault extends Fault {
  readonly path: string;
}

/** The position of a value, and the references that were followed without going deeper into the value. */
interface Place {
  readonly root: unknown;
  /** Its name in sentences: `answer.parts[0]`. */
  readonly path: string;
  readonly pointer: string;
  readonly refs: readonly string[];
}

export const same = (a: unknown, b: unknown): boolean => canonicalText(a) === canonicalText(b);

const fault = ({ path, pointer }: Place, message: string): NamedFault => ({ path, pointer, message });

/** The place of a property or an item. */
const below = ({ root, path, pointer }: Place, name: string): Place => ({
  root,
  path: `${path}.${name}`,
  pointer: pointer + pointerTo([name]),
  refs: [],
});

const sentenceOf = ({ path, message }: NamedFault): string => `${path} ${message}`;

/** The first fault of a value, as a sentence; undefined if it fits. @param path - name of the value in the sentence */
export function schemaFault(schema: Schema, value: unknown, path: string): string | undefined {
  return withinBudget(path, () => {
    for (const first of faultsOf(schema, value, whole(schema, path))) return [first];
    return [];
  }).map(sentenceOf)[0];
}

/** All faults of a value. If the type is wrong, other faults of the same value are not reported. */
export function schemaFaults(schema: Schema, value: unknown, path: string): readonly string[] {
  return withinBudget(path, () => [...faultsOf(schema, value, whole(schema, path))]).map(sentenceOf);
}

/** The same, each with the place at fault, and as a sentence. */
export function placedFaults(
  schema: Schema,
  value: unknown,
  path: string,
): readonly (Fault & { readonly sentence: string })[] {
  const found = withinBudget(path, () => [...faultsOf(schema, value, whole(schema, path))]);
  return found.map((one) => ({ pointer: one.pointer, message: one.message, sentence: sentenceOf(one) }));
}

const whole = (root: unknown, path: string): Place => ({ root, path, pointer: '', refs: [] });

/** Runs a check with a limited budget. If references or patterns make it too costly, the value counts as not fitting. */
function withinBudget(path: string, check: () => readonly NamedFault[]): readonly NamedFault[] {
  // If several values share a budget, the overdraft was reported with the value that caused it.
  if (currentBudget().refusal !== undefined) return [];
  try {
    return withBudget(check);
  } catch (error) {
    if (!(error instanceof Overdrawn)) throw error;
    return [fault(whole(undefined, path), `cannot be checked: ${error.message}`)];
  }
}

/** Cost of checking a value, in steps of an expression; and (`stepsPerPart`) of applying a further schema to the same value. */
const stepsPerValue = 3;
const stepsPerPart = 30;

const typeOf = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'array'
      : typeof value === 'number' && Number.isInteger(value)
        ? 'integer'
        : typeof value;

const fitsType = (value: unknown, type: string): boolean =>
  typeOf(value) === type || (type === 'number' && typeof value === 'number');

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as readonly unknown[]) : []);

function* faultsOf(schema: unknown, value: unknown, at: Place): Generator<NamedFault> {
  if (schema === false) yield fault(at, `is not allowed`);
  if (typeof schema !== 'object' || schema === null) return;
  currentBudget().takeSteps(stepsPerValue);
  const rules = schema as Schema;
  const types = listOf(typeof rules['type'] === 'string' ? [rules['type']] : rules['type']) as readonly string[];
  if (types.length > 0 && !types.some((type) => fitsType(value, type))) {
    yield fault(at, `is ${typeOf(value)}, not ${types.join(' or ')}`);
    return;
  }
  if ('const' in rules && !same(rules['const'], value)) yield fault(at, `is not ${encodeValue(rules['const'])}`);
  const options = rules['enum'];
  if (Array.isArray(options) && !isOneOf(value, options)) yield fault(at, `is none of ${encodeValue(options)}`);
  yield* combinedFaults(rules, value, at);
  if (typeof value === 'string') yield* textFaults(rules, value, at);
  else if (typeof value === 'number') yield* numberFaults(rules, value, at);
  else if (Array.isArray(value)) yield* listFaults(rules, value, at);
  else if (typeof value === 'object' && value !== null) yield* objectFaults(rules, value as PlainObject, at);
}

function isOneOf(value: unknown, options: readonly unknown[]): boolean {
  payForWhole([value, options], currentBudget());
  const text = canonicalText(value);
  return options.some((option) => canonicalText(option) === text);
}

/** Faults by schemas that apply to the same value: references and combinations. */
function* combinedFaults(rules: Schema, value: unknown, at: Place): Generator<NamedFault> {
  const { $ref: ref, allOf, anyOf, oneOf, not } = rules;
  const parts = [allOf, anyOf, oneOf].reduce<number>((count, list) => count + listOf(list).length, 0);
  currentBudget().takeSteps(stepsPerPart * (parts + (ref === undefined ? 0 : 1) + (not === undefined ? 0 : 1)));
  const fits = (part: unknown): boolean => faultsOf(part, value, at).next().done === true;
  if (typeof ref === 'string') {
    if (at.refs.includes(ref)) yield fault(at, `cannot be checked: ${ref} leads back to itself`);
    else yield* faultsOf(resolvePointer(at.root, ref), value, { ...at, refs: [...at.refs, ref] });
  }
  for (const part of listOf(allOf)) yield* faultsOf(part, value, at);
  if (Array.isArray(anyOf) && !anyOf.some(fits)) yield fault(at, `fits none of the allowed forms`);
  const fitting = listOf(oneOf).filter(fits).length;
  if (Array.isArray(oneOf) && fitting !== 1)
    yield fault(at, `fits ${fitting === 0 ? 'none' : fitting} of the forms of which it must fit one`);
  if (not !== undefined && fits(not)) yield fault(at, `has a form that is not allowed`);
}

function* textFaults(rules: Schema, value: string, at: Place): Generator<NamedFault> {
  const { minLength, maxLength, pattern } = rules as { minLength?: number; maxLength?: number; pattern?: string };
  if (minLength !== undefined && value.length < minLength) yield fault(at, `is shorter than ${minLength}`);
  if (maxLength !== undefined && value.length > maxLength) yield fault(at, `is longer than ${maxLength}`);
  if (pattern !== undefined) yield* patternFaults(pattern, value, at);
}

function* patternFaults(pattern: string, value: string, at: Place): Generator<NamedFault> {
  try {
    if (!fitsPattern(value, pattern, 'u')) yield fault(at, `does not match ${pattern}`);
  } catch (error) {
    if (error instanceof Overdrawn) throw error;
    yield fault(at, `cannot be checked: ${(error as Error).message}`);
  }
}

function* numberFaults(rules: Schema, value: number, at: Place): Generator<NamedFault> {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = rules as Record<string, number>;
  if (minimum !== undefined && value < minimum) yield fault(at, `is below ${minimum}`);
  if (maximum !== undefined && value > maximum) yield fault(at, `is above ${maximum}`);
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) yield fault(at, `is not above ${exclusiveMinimum}`);
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) yield fault(at, `is not below ${exclusiveMaximum}`);
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) yield fault(at, `is no multiple of ${multipleOf}`);
}

/** Decimal fractions are not exact in binary, but 0.07 must count as a multiple of 0.01. */
function isMultiple(value: number, step: number): boolean {
  const count = value / step;
  return Math.abs(count - Math.round(count)) <= Number.EPSILON * Math.max(1, Math.abs(count)) * 4;
}

function* listFaults(rules: Schema, value: readonly unknown[], at: Place): Generator<NamedFault> {
  const { minItems, maxItems } = rules as { minItems?: number; maxItems?: number };
  if (minItems !== undefined && value.length < minItems) yield fault(at, `has fewer than ${minItems} items`);
  if (maxItems !== undefined && value.length > maxItems) yield fault(at, `has more than ${maxItems} items`);
  if (rules['uniqueItems'] === true && new Set(value.map(canonicalText)).size < value.length)
    yield fault(at, `has an item twice`);
  const first = listOf(rules['prefixItems']);
  for (const [index, item] of value.entries()) {
    const schema = index < first.length ? first[index] : rules['items'];
    yield* faultsOf(schema, item, { ...below(at, String(index)), path: `${at.path}[${index}]` });
  }
}

function* objectFaults(rules: Schema, value: Readonly<PlainObject>, at: Place): Generator<NamedFault> {
  const { minProperties, maxProperties } = rules as { minProperties?: number; maxProperties?: number };
  const names = Object.keys(value);
  if (minProperties !== undefined && names.length < minProperties)
    yield fault(at, `has fewer than ${minProperties} properties`);
  if (maxProperties !== undefined && names.length > maxProperties)
    yield fault(at, `has more than ${maxProperties} properties`);
  for (const name of listOf(rules['required']) as readonly string[])
    if (!Object.hasOwn(value, name)) yield fault(below(at, name), 'is missing');
  const properties = (rules['properties'] ?? {}) as Readonly<PlainObject>;
  for (const name of names) {
    const isKnown = Object.hasOwn(properties, name);
    const schema = isKnown ? properties[name] : rules['additionalProperties'];
    const inner = below(at, name);
    if (rules['propertyNames'] !== undefined)
      yield* faultsOf(rules['propertyNames'], name, { ...inner, path: `the name of ${inner.path}` });
    if (!isKnown && schema === false) yield fault(inner, 'is not expected');
    else yield* faultsOf(schema, getOwn(value, name), inner);
  }
}
