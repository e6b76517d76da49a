/** Schemas in the two forms that users give: JSON Schema, or a Standard Schema (such as Zod's) that can produce its JSON Schema. */
import { CairnError } from '../errors.ts';
import type { StandardResult, StandardSchema } from '../graph/graph.ts';
import type { JsonSchema } from '../graph/contracts/node-type.ts';
import { isPlainObject } from '../state/values/plain-object.ts';
import { nestingFault } from '../state/values/nesting.ts';
import { schemaDefect, schemaFault } from './json-schema.ts';

/** JSON Schema, or a Standard Schema that can produce its JSON Schema (Zod 4.2 and later). */
export type AnySchema = JsonSchema | StandardSchema;

/** Type of the values that fit a schema; unknown for JSON Schema. */
export type SchemaValue<Schema> = Schema extends StandardSchema<infer Value> ? Value : unknown;

interface HasJsonSchema {
  readonly jsonSchema?: Readonly<Record<'input' | 'output', (options: JsonSchemaOptions) => unknown>>;
}

interface JsonSchemaOptions {
  readonly target: string;
  /** For the schema's own library; others ignore it. */
  readonly libraryOptions?: Readonly<Record<string, unknown>>;
}

export function isStandardSchema(schema: unknown): schema is StandardSchema {
  return (typeof schema === 'object' || typeof schema === 'function') && schema !== null && '~standard' in schema;
}

/**
 * Converts a schema to JSON Schema.
 * @param side - of values before validation (`input`) or after it (`output`)
 * @param place - for messages, such as `tool search: input`
 * @throws CONFIG_INVALID it is of neither form, or cannot produce its JSON Schema
 */
export function jsonSchemaOf(schema: unknown, side: 'input' | 'output', place: string): JsonSchema {
  const json = isStandardSchema(schema) ? tellJsonSchema(schema, side, place) : schema;
  if (isPlainObject(json)) return json;
  throw new CairnError('CONFIG_INVALID', { reason: `${place} must be a schema, such as { type: 'object' }` });
}

function tellJsonSchema(
  schema: StandardSchema,
  side: 'input' | 'output',
  place: string,
  more: Pick<JsonSchemaOptions, 'libraryOptions'> = {},
): unknown {
  const standard = schema['~standard'] as StandardSchema['~standard'] & HasJsonSchema;
  if (standard.jsonSchema === undefined)
    throw new CairnError('CONFIG_INVALID', {
      reason: `${place} cannot tell its JSON Schema: use Zod 4.2 or later, or write JSON Schema`,
    });
  try {
    return standard.jsonSchema[side]({ target: 'draft-2020-12', ...more });
  } catch (cause) {
    const reason = `${place} has no JSON Schema: ${(cause as Error).message}`;
    throw new CairnError('CONFIG_INVALID', { reason }, { cause });
  }
}

/**
 * JSON Schema that takes every value which a Standard Schema takes, for a first check where the schema itself is unknown; undefined if it
 * cannot tell one. It may take more: what converts a value before it looks at it, such as `z.coerce.number()`, takes anything here.
 */
export function wideJsonSchemaOf(schema: StandardSchema): JsonSchema | undefined {
  try {
    const json = tellJsonSchema(schema, 'input', 'the schema', { libraryOptions: { override: widen } });
    return isPlainObject(json) && schemaDefect(json) === undefined ? json : undefined;
  } catch (error) {
    if (CairnError.is(error, 'CONFIG_INVALID')) return undefined;
    throw error;
  }
}

/** What a check of Zod, or a schema that is one itself, says of itself. */
interface ZodCheck {
  readonly check?: string;
  readonly pattern?: RegExp;
}

/** The parts of a Zod schema that its JSON Schema does not tell, or tells as if the value had been converted before. */
interface ZodInternals {
  readonly def: ZodCheck & {
    readonly type?: string;
    readonly coerce?: boolean;
    readonly in?: { readonly _zod?: ZodInternals };
    readonly checks?: readonly { readonly _zod?: { readonly def?: ZodCheck } }[];
  };
  /** Where versions before 4.6 keep the patterns. */
  readonly bag?: { readonly patterns?: Iterable<RegExp> };
}

/** Called by Zod for each part of a schema, with the JSON Schema that it made of the part. */
function widen(part: {
  readonly zodSchema: { readonly _zod: ZodInternals };
  readonly jsonSchema: Record<string, unknown>;
}): void {
  const { zodSchema, jsonSchema: json } = part;
  for (const key of narrowKeys(zodSchema._zod, json)) delete json[key];
  // Of alternatives that are wider now, a value may fit several.
  if (json['oneOf'] === undefined) return;
  json['anyOf'] = json['oneOf'];
  delete json['oneOf'];
}

/** The keywords that refuse what the schema takes. */
function narrowKeys({ def, bag }: ZodInternals, json: Readonly<Record<string, unknown>>): readonly string[] {
  const convertsFirst = def.coerce === true || def.type === 'catch' || def.in?._zod?.def.type === 'transform';
  if (convertsFirst) return Object.keys(json);
  const checks = [def, ...(def.checks ?? []).map((check) => check._zod?.def)];
  // Such as `trim()`: what follows looks at the changed text.
  if (checks.some((check) => check?.check === 'overwrite')) return Object.keys(json).filter((key) => key !== 'type');
  // JSON Schema has no flags of patterns.
  const patterns = [...checks.map((check) => check?.pattern), ...(bag?.patterns ?? [])];
  return patterns.some((pattern) => /[ims]/u.test(pattern?.flags ?? '')) ? ['pattern', 'allOf'] : [];
}

/** Why a value does not fit a Standard Schema, and where. */
export interface SchemaFault {
  readonly path: readonly string[];
  readonly message: string;
}

type StandardIssue = NonNullable<StandardResult<unknown>['issues']>[number];

export function faultOfIssue({ message, path = [] }: StandardIssue): SchemaFault {
  return { path: path.map((key) => String(typeof key === 'object' ? key.key : key)), message };
}

/** What a Standard Schema makes of a value, or each of its faults. */
export async function validateStandard<Value>(
  schema: StandardSchema<Value>,
  value: unknown,
): Promise<
  | { readonly value: Value; readonly faults?: undefined }
  | { readonly value?: undefined; readonly faults: readonly SchemaFault[] }
> {
  const result = await schema['~standard'].validate(value);
  return result.issues === undefined ? { value: result.value } : { faults: result.issues.map(faultOfIssue) };
}

/** The first fault as data of an error: its path with dots, none for the whole value, and the reason. */
export function firstFault([fault]: readonly SchemaFault[]): { readonly path?: string; readonly reason: string } {
  const path = fault?.path.join('.') ?? '';
  return { ...(path !== '' && { path }), reason: fault?.message ?? 'it was refused' };
}

/** The validated value, which may have defaults filled in; or what is wrong, in words. */
export type Checked = { readonly value: unknown; readonly fault?: undefined } | { readonly fault: string };

/** Validates a value with a schema of either form. */
export async function checkAgainst(schema: AnySchema, value: unknown, name: string): Promise<Checked> {
  const nesting = nestingFault(value);
  if (nesting !== undefined) return { fault: `${name}: ${nesting}` };
  if (!isStandardSchema(schema)) {
    const fault = schemaFault(schema, value, name);
    return fault === undefined ? { value } : { fault };
  }
  const { value: valid, faults } = await validateStandard(schema, value);
  if (faults === undefined) return { value: valid };
  return { fault: faults.map(({ path, message }) => `${[name, ...path].join('.')}: ${message}`).join('; ') };
}

// Parses the JSON in a text that a model wrote, and validates it with a schema.

/** The value of an answer, with or without a code fence around it; or why it has none. */
export async function readAnswer(text: string, schema: AnySchema): Promise<Checked> {
  let value: unknown;
  try {
    value = JSON.parse(withoutFence(text.trim()));
  } catch (error) {
    return { fault: `it is no JSON: ${(error as Error).message}` };
  }
  return checkAgainst(schema, value, 'answer');
}

const fence = '```';

/** The text in a code fence around all of it. */
function withoutFence(text: string): string {
  const opening = /^```[a-z]*\n/iu.exec(text)?.[0];
  if (opening === undefined || !text.endsWith(fence) || text.length < opening.length + fence.length) return text;
  return text.slice(opening.length, -fence.length);
}
