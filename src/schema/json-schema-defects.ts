/** Finds faults in JSON Schemas themselves. A keyword that would have no effect is a fault (W3.3). */
import { isPlainObject } from '../state/values/plain-object.ts';

/** What the value of a keyword must be. */
type Kind =
  | 'schema'
  | 'schemas'
  | 'named'
  | 'types'
  | 'values'
  | 'names'
  | 'count'
  | 'number'
  | 'step'
  | 'flag'
  | 'pattern'
  | 'ref'
  | 'note';

const types: readonly string[] = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'];

const keywordsOf: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  schema: ['not', 'items', 'additionalProperties', 'propertyNames'],
  schemas: ['allOf', 'anyOf', 'oneOf', 'prefixItems'],
  named: ['properties', '$defs', 'definitions'],
  types: ['type'],
  values: ['enum'],
  names: ['required'],
  count: ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  step: ['multipleOf'],
  flag: ['uniqueItems'],
  pattern: ['pattern'],
  ref: ['$ref'],
  note: [
    'const',
    'title',
    'description',
    'default',
    'examples',
    'format',
    'contentEncoding',
    'deprecated',
    '$comment',
    '$schema',
    '$id',
  ],
};

const kinds: ReadonlyMap<string, Kind> = new Map(
  Object.entries(keywordsOf).flatMap(([kind, keywords]) => keywords.map((keyword) => [keyword, kind as Kind] as const)),
);

/** All faults that make checking impossible, as sentences in one text; undefined if there are none. */
export function schemaDefect(schema: unknown): string | undefined {
  if (schema === undefined) return undefined;
  const defects = [...defectsOf(schema, schema, '')];
  return defects.length === 0 ? undefined : defects.join('; ');
}

/** The place in a schema that a local reference points to; undefined if it does not exist. */
export function resolvePointer(root: unknown, ref: string): unknown {
  if (ref === '#') return root;
  if (!ref.startsWith('#/')) return undefined;
  let found: unknown = root;
  for (const part of ref.slice(2).split('/')) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[key];
  }
  return found;
}

function* defectsOf(root: unknown, schema: unknown, path: string): Generator<string> {
  const place = path === '' ? 'the schema' : path;
  if (typeof schema === 'boolean') return;
  if (!isPlainObject(schema)) {
    yield `${place} is no schema`;
    return;
  }
  for (const [keyword, value] of Object.entries(schema)) {
    const kind = kinds.get(keyword);
    const inner = path === '' ? keyword : `${path}.${keyword}`;
    if (kind === undefined) yield `${place} has the keyword ${JSON.stringify(keyword)}, which is not known`;
    else if (kind === 'schema') yield* defectsOf(root, value, inner);
    else if (kind === 'schemas') yield* listDefects(root, value, inner);
    else if (kind === 'named') yield* namedDefects(root, value, inner);
    else {
      const defect = valueDefect(root, schema, kind, value);
      if (defect !== undefined) yield `${inner} ${defect}`;
    }
  }
}

function* listDefects(root: unknown, value: unknown, path: string): Generator<string> {
  if (!Array.isArray(value) || value.length === 0) {
    yield `${path} is no list of schemas`;
    return;
  }
  for (const [index, item] of value.entries()) yield* defectsOf(root, item, `${path}[${index}]`);
}

function* namedDefects(root: unknown, value: unknown, path: string): Generator<string> {
  if (!isPlainObject(value)) {
    yield `${path} is no object of schemas`;
    return;
  }
  for (const [name, item] of Object.entries(value)) yield* defectsOf(root, item, `${path}.${name}`);
}

function valueDefect(root: unknown, schema: object, kind: Kind, value: unknown): string | undefined {
  const isList = (fits: (item: unknown) => boolean): boolean =>
    Array.isArray(value) && value.length > 0 && value.every((item) => fits(item));
  const isType = (item: unknown): boolean => types.includes(item as string);
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0;
  switch (kind) {
    case 'types':
      return isType(value) || isList(isType) ? undefined : `is none of ${types.join(', ')}`;
    case 'values':
      return Array.isArray(value) ? undefined : 'is no list of values';
    case 'names':
      return Array.isArray(value) && value.every((name) => typeof name === 'string')
        ? undefined
        : 'is no list of names';
    case 'count':
      return isCount ? undefined : 'is no count';
    case 'number':
      return Number.isFinite(value) ? undefined : 'is no number';
    case 'step':
      return typeof value === 'number' && value > 0 && Number.isFinite(value) ? undefined : 'is no number above 0';
    case 'flag':
      return typeof value === 'boolean' ? undefined : 'is neither true nor false';
    case 'pattern':
      return patternDefect(value);
    case 'ref':
      return refDefect(root, schema, value);
    default:
      return undefined;
  }
}

function patternDefect(pattern: unknown): string | undefined {
  if (typeof pattern !== 'string') return 'is no text';
  try {
    ''.search(new RegExp(pattern, 'u'));
    return undefined;
  } catch (error) {
    return `is no regular expression: ${(error as Error).message}`;
  }
}

function refDefect(root: unknown, schema: object, ref: unknown): string | undefined {
  if (typeof ref !== 'string' || !ref.startsWith('#'))
    return 'leads out of the schema: only local references are followed';
  const target = resolvePointer(root, ref);
  if (target === undefined) return `leads nowhere: ${ref}`;
  return leadsTo(root, target, schema, new Set()) ? `leads back to itself: ${ref}` : undefined;
}

/** Whether a schema leads to another one for the same value, over references and combinations. */
function leadsTo(root: unknown, from: unknown, wanted: object, seen: Set<unknown>): boolean {
  if (from === wanted) return true;
  if (!isPlainObject(from) || seen.has(from)) return false;
  seen.add(from);
  const { $ref: ref, not, allOf, anyOf, oneOf } = from;
  const next = [typeof ref === 'string' ? resolvePointer(root, ref) : undefined, not, allOf, anyOf, oneOf].flat();
  return next.some((schema) => leadsTo(root, schema, wanted, seen));
}
