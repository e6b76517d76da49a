/** Makes the JSON Schema of workflow files from the table of the format and the block types. Editors use it to complete and check. */
import type { JsonSchema, InputField, NodeType } from '../../../graph/contracts/node-type.ts';
import { callTypes } from './workflow-file.ts';
import { blockFields, reservedIds, workflowFields } from './format.ts';
import type { Fields, Shape } from './shape.ts';

// Converts a JSON Schema for strict validators: each keyword next to the type it applies to, and one type at a time.

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
function strictSchema(schema: JsonSchema): JsonSchema {
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

/** JSON Schema (draft 2020-12) of workflow files that may use these block types. */
export function workflowSchema(nodeTypes: readonly NodeType[]): JsonSchema {
  return strictSchema(looseSchema(nodeTypes));
}

function looseSchema(nodeTypes: readonly NodeType[]): JsonSchema {
  const types = [...new Map([...callTypes, ...nodeTypes].map((type) => [type.name, type])).values()];
  const block = fieldsSchema(blockFields);
  const { properties } = block as { properties: Record<string, JsonSchema> };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Cairn workflow',
    ...fieldsSchema(workflowFields, {
      // JSON Schema cannot express that ids are unique; at least exact copies of a block are found.
      blocks: { type: 'array', minItems: 1, uniqueItems: true, items: { $ref: '#/$defs/block' } },
    }),
    $defs: {
      block: {
        ...block,
        properties: {
          ...properties,
          id: { ...properties['id'], not: { anyOf: [{ enum: reservedIds }, { pattern: '^__' }] } },
          type: {
            description: properties['type']?.['description'],
            enum: types.map(({ name }) => name),
          },
        },
        allOf: types.map((type) => ({
          if: { properties: { type: { const: type.name } }, required: ['type'] },
          // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema.
          then: typeSchema(type),
        })),
      },
    },
  };
}

function typeSchema(type: NodeType): JsonSchema {
  const needed = Object.entries(type.inputs).filter(([, { isRequired }]) => isRequired === true);
  const required = needed.flatMap(([name, { aliases = [] }]) => (aliases.length === 0 ? [name] : []));
  const spelt = needed.flatMap(([name, { aliases = [] }]) =>
    aliases.length === 0 ? [] : [{ anyOf: [name, ...aliases].map(withField) }],
  );
  const inputs = {
    description: type.description,
    type: needed.length > 0 ? 'object' : ['object', 'null'],
    properties: Object.fromEntries(
      Object.entries(type.inputs).flatMap(([name, field]) =>
        [name, ...(field.aliases ?? [])].map((spelling) => [spelling, inputSchema(field)]),
      ),
    ),
    additionalProperties: false,
    ...(required.length > 0 && { required }),
    ...(spelt.length > 0 && { allOf: spelt }),
  };
  return {
    description: type.description,
    properties: { inputs, ...(type.takesFileOutputs !== true && { outputs: false }) },
    ...(needed.length > 0 && { required: ['inputs'] }),
  };
}

const withField = (name: string): JsonSchema => ({ properties: { [name]: {} }, required: [name] });

/** The schema of an input: a value that fits, or a text with a reference; for optional inputs also null. */
function inputSchema({ schema, description, kind, isRequired, default: initial }: InputField): JsonSchema {
  const options: JsonSchema[] = [{ ...schema }];
  if (kind !== 'literal') options.push({ type: 'string', pattern: '\\$\\{|\\{\\{|\\{%' });
  if (isRequired !== true) options.push({ type: 'null' });
  const isNested = ['array', 'object'].some((type) => schema['type'] === type);
  return {
    description,
    ...(initial === undefined ? {} : { default: initial }),
    // References may be anywhere inside of lists and mappings, where the schema cannot follow.
    ...(isNested && kind !== 'literal'
      ? { type: [schema['type'], 'string', ...(isRequired === true ? [] : ['null'])] }
      : options.length === 1
        ? options[0]
        : { anyOf: options }),
  };
}

function fieldsSchema(fields: Fields, instead: Readonly<Record<string, JsonSchema>> = {}): JsonSchema {
  const required = Object.entries(fields).flatMap(([name, { isRequired }]) => (isRequired === true ? [name] : []));
  return {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(fields).flatMap(([name, { shape, description, aliases = [] }]) =>
        [name, ...aliases].map((spelling) => [spelling, { description, ...(instead[name] ?? shapeSchema(shape)) }]),
      ),
    ),
    additionalProperties: false,
    ...(required.length > 0 && { required }),
  };
}

function shapeSchema(shape: Shape): JsonSchema {
  switch (shape.kind) {
    case 'any':
      return {};
    case 'null':
      return { type: 'null' };
    case 'text':
      return {
        type: 'string',
        ...(shape.pattern !== undefined && { pattern: shape.pattern.source }),
        ...(shape.lengthMax !== undefined && { maxLength: shape.lengthMax }),
      };
    case 'flag':
      return { type: 'boolean' };
    case 'number':
      return {
        type: shape.isWhole === true ? 'integer' : 'number',
        ...(shape.min !== undefined && { minimum: shape.min }),
        ...(shape.max !== undefined && { maximum: shape.max }),
      };
    case 'choice':
      return { enum: shape.of };
    case 'list':
      return { type: 'array', items: shapeSchema(shape.of) };
    case 'map':
      return {
        type: 'object',
        additionalProperties: shapeSchema(shape.of),
        ...(shape.keys !== undefined && { propertyNames: { pattern: shape.keys.pattern.source } }),
      };
    case 'fields':
      return fieldsSchema(shape.fields);
    default:
      return eitherSchema(shape.of);
  }
}

/** The first fitting option is used, so `any` after a mapping means everything that is not a mapping. */
function eitherSchema(options: readonly Shape[]): JsonSchema {
  const hasMapping = options.some(({ kind }) => kind === 'fields' || kind === 'map');
  return {
    anyOf: options.map((option) =>
      option.kind === 'any' && hasMapping ? { not: { type: 'object' } } : shapeSchema(option),
    ),
  };
}
