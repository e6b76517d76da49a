/** Converts a JSON Schema for strict validators: each keyword next to the type it applies to, and one type at a time. */
import type { JsonSchema } from '../../../graph/contracts/node-type.ts';

/** Keywords by the type of value they apply to. */
const keywordsOf: Readonly<Record<string, readonly string[]>> = {
  string: ['pattern', 'minLength', 'maxLength', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains'],
  object: [
    'properties', 'additionalProperties', 'patternProperties', 'propertyNames', 'required', 'minProperties', 'maxProperties',
  ],
}; // prettier-ignore
const typed: ReadonlyMap<string, string> = new Map(
  Object.entries(keywordsOf).flatMap(([type, keywords]) => keywords.map((keyword) => [keyword, type] as const)),
);
const maps: readonly string[] = ['properties', 'patternProperties', '$defs'];
const lists: readonly string[] = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];
const singles: readonly string[] = [
  'items',
  'additionalProperties',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
  'contains',
];

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const typeOfKeyword = (keyword: string, types: readonly string[]): string | undefined => {
  const type = typed.get(keyword);
  return type === 'number' && types.includes('integer') ? 'integer' : type;
};

/** The same schema with keywords only next to their type. */
export function strictSchema(schema: JsonSchema): JsonSchema {
  const inner: Readonly<Record<string, unknown>> = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => [keyword, strictPart(keyword, value)]),
  );
  const { type, ...rest } = inner;
  const entries = Object.entries(rest);
  if (!Array.isArray(type)) {
    const [wanted] = type === undefined ? entries.flatMap(([keyword]) => typed.get(keyword) ?? []) : [];
    return wanted === undefined ? inner : { type: wanted, ...inner };
  }
  const types = type as readonly string[];
  const shared = entries.filter(([keyword]) => !typed.has(keyword));
  const options = types.map((one) => ({
    type: one,
    ...Object.fromEntries(entries.filter(([keyword]) => typeOfKeyword(keyword, types) === one)),
  }));
  // There may be another list of options already.
  return Object.hasOwn(rest, 'anyOf')
    ? { ...Object.fromEntries(shared), allOf: [{ anyOf: options }] }
    : { ...Object.fromEntries(shared), anyOf: options };
}

function strictPart(keyword: string, value: unknown): unknown {
  if (maps.includes(keyword) && isSchema(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, isSchema(one) ? strictSchema(one) : one]),
    );
  if (lists.includes(keyword) && Array.isArray(value))
    return value.map((one: unknown) => (isSchema(one) ? strictSchema(one) : one));
  return singles.includes(keyword) && isSchema(value) ? strictSchema(value) : value;
}
