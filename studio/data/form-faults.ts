/** What is wrong with the values of a form, all at once, by the place of each. The server has the last word. Pure. */
import type { JsonSchema } from './types.ts';
import { typeOf } from './form-values.ts';

/** By JSON Pointer (RFC 6901), such as `/parts/0`; the whole is ``. */
export type Faults = ReadonlyMap<string, string>;

const formats: Readonly<Record<string, readonly [RegExp, string]>> = {
  email: [/^[^\s@]+@[^\s@]+\.[^\s@]+$/u, 'This is no mail address.'],
  date: [/^\d{4}-\d\d-\d\d$/u, 'This is no date.'],
  uri: [/^[a-z][\w+.-]*:\S+$/iu, 'This is no address.'],
};

export const pointerTo = (place: string, key: string | number): string =>
  `${place}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;

export function faultsIn(schema: JsonSchema, value: unknown): Faults {
  return new Map(walk(schema, value, ''));
}

type Found = readonly (readonly [place: string, fault: string])[];

function walk(schema: JsonSchema, value: unknown, place: string): Found {
  const type = typeOf(schema);
  if (type === 'object') {
    const parts = (value ?? {}) as Readonly<Record<string, unknown>>;
    return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
      const at = pointerTo(place, key);
      const isNeeded = schema.required?.includes(key) === true && inner.default === undefined;
      if (parts[key] !== undefined || typeOf(inner) === 'object') {
        const isOptional = !isNeeded && parts[key] === undefined;
        return isOptional ? [] : walk(inner, parts[key], at);
      }
      return isNeeded ? [[at, `${inner.contentEncoding === undefined ? 'This' : 'A file'} is needed.`] as const] : [];
    });
  }
  const fault = faultOf(schema, value, type);
  const own: Found = fault === undefined ? [] : [[place, fault]];
  if (type !== 'list') return own;
  const items = Array.isArray(value) ? value : [];
  return [...own, ...items.flatMap((item: unknown, index) => itemFaults(schema, item, pointerTo(place, index)))];
}

function itemFaults({ items = {} }: JsonSchema, item: unknown, at: string): Found {
  return item === undefined || item === null ? [[at, 'This is empty.']] : walk(items, item, at);
}

function faultOf(schema: JsonSchema, value: unknown, type: string): string | undefined {
  const {
    minimum,
    maximum,
    minLength = 0,
    maxLength = Infinity,
    pattern,
    format = '',
    minItems = 0,
    maxItems,
  } = schema;
  if (value === undefined) return type === 'list' && minItems === 0 ? undefined : 'This is needed.';
  if (typeof value === 'number') {
    if (type === 'integer' && !Number.isInteger(value)) return 'This is a whole number.';
    if (minimum !== undefined && value < minimum) return `The least is ${minimum}.`;
    if (maximum !== undefined && value > maximum) return `The most is ${maximum}.`;
  }
  if (Array.isArray(value)) {
    if (value.length < minItems) return `There are at least ${minItems}.`;
    if (maxItems !== undefined && value.length > maxItems) return `There are at most ${maxItems}.`;
  }
  if (typeof value !== 'string') return undefined;
  if (value.length < minLength) return `These are fewer than ${minLength} characters.`;
  if (value.length > maxLength) return `These are more than ${maxLength} characters.`;
  const [form, words] = formats[format] ?? [];
  if (form !== undefined && !form.test(value)) return words;
  return pattern !== undefined && !fits(pattern, value) ? `This does not have the form ${pattern}.` : undefined;
}

/** A pattern that this browser does not know is left to the server. */
function fits(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
}

/** What a server finds wrong, by places within a field of the request such as `/input`. */
export function faultsOfProblem(problem: { readonly body: unknown } | undefined, field: string): Faults {
  const { errors = [] } = (problem?.body ?? {}) as {
    readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  };
  return new Map(
    errors
      .filter(({ pointer }) => pointer.startsWith(field))
      .map(({ pointer, detail }) => [
        pointer.slice(field.length),
        /^(?:is|has|does|fits|cannot)\b/u.test(detail) ? `This ${detail}.` : detail,
      ]),
  );
}
