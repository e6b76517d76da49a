/** What a form makes of a JSON Schema. Pure. */
import type { JsonSchema } from './types.ts';

/** Which field a schema gets; `json` where it has no simple type. */
export const typeOf = (schema: JsonSchema): string => {
  const { type, properties, enum: values, items, contentEncoding, format } = schema;
  if (values !== undefined && values.every((value) => typeof value !== 'object')) return 'choice';
  if (properties !== undefined) return 'object';
  const [first = 'json'] = typeof type === 'string' ? [type] : (type ?? []).filter((one) => one !== 'null');
  if (first === 'string' && (contentEncoding === 'base64' || format === 'data-url')) return 'file';
  if (first === 'array' && isSimple(items)) return 'list';
  return ['string', 'number', 'integer', 'boolean'].includes(first) ? first : 'json';
};

/** Whether a list of these has a field for each. */
const isSimple = (items: JsonSchema | undefined): boolean => items !== undefined && typeOf(items) !== 'json';

/** What a value would be asked for with, where its schema says nothing: by what it is. */
export function schemaOf(value: unknown): JsonSchema {
  if (typeof value === 'string') return { type: 'string' };
  if (typeof value === 'number' || typeof value === 'boolean') return { type: typeof value };
  return {};
}

/** What a form begins with: defaults of the schema. */
export function defaultsOf(schema: JsonSchema | undefined): unknown {
  if (schema === undefined) return undefined;
  if (schema.default !== undefined) return schema.default;
  if (schema.properties === undefined) return undefined;
  const entries = Object.entries(schema.properties).flatMap(([key, inner]) => {
    const value = defaultsOf(inner);
    return value === undefined ? [] : [[key, value] as const];
  });
  return Object.fromEntries(entries);
}

/** Whether every required part has a value. The server holds the whole against the schema. */
export function isComplete(schema: JsonSchema | undefined, value: unknown): boolean {
  if (schema?.properties === undefined) return schema === undefined || value !== undefined;
  const parts = (value ?? {}) as Readonly<Record<string, unknown>>;
  return Object.entries(schema.properties).every(([key, inner]) =>
    schema.required?.includes(key) === true && inner.default === undefined ? isComplete(inner, parts[key]) : true,
  );
}

/** Whether a text gets a field of several lines. */
export const isLongText = ({ maxLength = 0 }: JsonSchema, text: string): boolean =>
  maxLength > 300 || text.length > 80 || text.includes('\n');
