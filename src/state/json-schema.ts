/** Values against a subset of JSON Schema: docs/spec/waits.md. */
import { canonicalText } from './canonical.ts';
import { encodeValue } from './codec.ts';

export type Schema = Readonly<Record<string, unknown>>;

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

export const same = (a: unknown, b: unknown): boolean => canonicalText(a) === canonicalText(b);

/** The first way in which a value misses a schema, as a sentence; undefined if it fits. */
export function schemaFault(schema: Schema, value: unknown, path: string): string | undefined {
  const type = schema['type'];
  const types = type === undefined ? [] : Array.isArray(type) ? (type as string[]) : [type as string];
  if (types.length > 0 && !types.some((t) => fitsType(value, t)))
    return `${path} is ${typeOf(value)}, not ${types.join(' or ')}`;
  if ('const' in schema && !same(schema['const'], value)) return `${path} is not ${encodeValue(schema['const'])}`;
  const options = schema['enum'];
  if (Array.isArray(options) && !options.some((option) => same(option, value)))
    return `${path} is none of ${encodeValue(options)}`;
  const anyOf = (schema['anyOf'] ?? schema['oneOf']) as readonly Schema[] | undefined;
  if (anyOf !== undefined && anyOf.every((option) => schemaFault(option, value, path) !== undefined))
    return `${path} fits none of the allowed forms`;
  for (const part of (schema['allOf'] as readonly Schema[] | undefined) ?? []) {
    const fault = schemaFault(part, value, path);
    if (fault !== undefined) return fault;
  }
  if (typeof value === 'string') return textFault(schema, value, path);
  if (typeof value === 'number') return numberFault(schema, value, path);
  if (Array.isArray(value)) return arrayFault(schema, value, path);
  if (typeof value === 'object' && value !== null) return objectFault(schema, value as Record<string, unknown>, path);
  return undefined;
}

function textFault(schema: Schema, value: string, path: string): string | undefined {
  const { minLength, maxLength, pattern } = schema as { minLength?: number; maxLength?: number; pattern?: string };
  if (minLength !== undefined && value.length < minLength) return `${path} is shorter than ${minLength}`;
  if (maxLength !== undefined && value.length > maxLength) return `${path} is longer than ${maxLength}`;
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value)) return `${path} does not match ${pattern}`;
  return undefined;
}

function numberFault(schema: Schema, value: number, path: string): string | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema as Record<string, number | undefined>;
  if (minimum !== undefined && value < minimum) return `${path} is below ${minimum}`;
  if (maximum !== undefined && value > maximum) return `${path} is above ${maximum}`;
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return `${path} is not above ${exclusiveMinimum}`;
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return `${path} is not below ${exclusiveMaximum}`;
  return undefined;
}

function arrayFault(schema: Schema, value: readonly unknown[], path: string): string | undefined {
  const { minItems, maxItems, items } = schema as { minItems?: number; maxItems?: number; items?: Schema };
  if (minItems !== undefined && value.length < minItems) return `${path} has fewer than ${minItems} items`;
  if (maxItems !== undefined && value.length > maxItems) return `${path} has more than ${maxItems} items`;
  if (items === undefined) return undefined;
  for (const [index, item] of value.entries()) {
    const fault = schemaFault(items, item, `${path}[${index}]`);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function objectFault(schema: Schema, value: Readonly<Record<string, unknown>>, path: string): string | undefined {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>;
  for (const name of (schema['required'] as readonly string[] | undefined) ?? []) {
    if (!Object.hasOwn(value, name)) return `${path}.${name} is missing`;
  }
  for (const [name, item] of Object.entries(value)) {
    if (Object.hasOwn(properties, name)) {
      const fault = schemaFault(properties[name] as Schema, item, `${path}.${name}`);
      if (fault !== undefined) return fault;
    } else if (schema['additionalProperties'] === false) return `${path}.${name} is not expected`;
  }
  return undefined;
}

/** A part of a schema that no answer could be checked against, as a sentence; undefined if there is none. */
export function schemaDefect(schema: unknown): string | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined;
  for (const [key, part] of Object.entries(schema)) {
    const defect = key === 'pattern' && typeof part === 'string' ? patternDefect(part) : schemaDefect(part);
    if (defect !== undefined) return defect;
  }
  return undefined;
}

function patternDefect(pattern: string): string | undefined {
  try {
    ''.search(new RegExp(pattern, 'u'));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
