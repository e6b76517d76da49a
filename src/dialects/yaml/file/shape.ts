/** Shapes of the parts of a file: one description, from which the checks and the JSON Schema are made. */
import type { Path } from './read-document.ts';
import { nearest } from '../../../graph/nearest.ts';
import type { Faults } from './faults.ts';

export interface Field {
  readonly shape: Shape;
  /** One or two sentences, shown by editors. */
  readonly description: string;
  /** Default false. */
  readonly isRequired?: boolean;
  /** Other spellings. */
  readonly aliases?: readonly string[];
}

export type Fields = Readonly<Record<string, Field>>;

export type Shape =
  | { readonly kind: 'any' }
  | { readonly kind: 'null' }
  | {
      readonly kind: 'text';
      readonly pattern?: RegExp;
      readonly lengthMax?: number;
      /** What is expected, for messages: `a name of letters`. */
      readonly wanted?: string;
    }
  | { readonly kind: 'flag' }
  | { readonly kind: 'number'; readonly min?: number; readonly max?: number; readonly isWhole?: boolean }
  | { readonly kind: 'choice'; readonly of: readonly string[] }
  | { readonly kind: 'list'; readonly of: Shape }
  | { readonly kind: 'map'; readonly of: Shape; readonly keys?: { readonly pattern: RegExp; readonly wanted: string } }
  | {
      readonly kind: 'fields';
      readonly fields: Fields;
      /** Fields of other formats, and what to use in their place. */
      readonly rejected?: Readonly<Record<string, string>>;
      /** Where a field that is none of these may belong. */
      readonly elsewhere?: string;
    }
  /** The first shape that fits the value's kind is used. */
  | { readonly kind: 'either'; readonly of: readonly Shape[]; readonly wanted: string };

/** Reports every way in which a value does not fit its shape. */
export function checkShape(faults: Faults, shape: Shape, value: unknown, path: Path): void {
  const miss = (message: string, fix: string): void => faults.add(path, { rule: 'Y2', message, fix });
  const wrongKind = (): void => miss(`${nameOf(path)} is ${describeValue(value)}`, `give ${wantedBy(shape)}`);
  if (!isOfKind(shape, value)) return wrongKind();
  switch (shape.kind) {
    case 'text': {
      const text = value as string;
      if (shape.lengthMax !== undefined && text.length > shape.lengthMax)
        miss(`${nameOf(path)} has ${text.length} characters`, `give at most ${shape.lengthMax}`);
      else if (shape.pattern?.test(text) === false) wrongKind();
      return;
    }
    case 'number': {
      const { min = -Infinity, max = Infinity, isWhole = false } = shape;
      const number = value as number;
      if (number < min || number > max || (isWhole && !Number.isInteger(number)) || Number.isNaN(number)) wrongKind();
      return;
    }
    case 'choice':
      if (!shape.of.includes(value as string)) {
        const near = nearest(value as string, shape.of);
        miss(
          `${nameOf(path)} is ${describeValue(value)}`,
          `${near === undefined ? '' : `did you mean ${near}? `}use one of: ${shape.of.join(', ')}`,
        );
      }
      return;
    case 'list':
      for (const [index, item] of (value as unknown[]).entries()) checkShape(faults, shape.of, item, [...path, index]);
      return;
    case 'map':
      return checkMap(faults, shape, value as Readonly<Record<string, unknown>>, path);
    case 'fields':
      return checkFields(faults, shape, value as Readonly<Record<string, unknown>>, path);
    case 'either': {
      const meant = shape.of.find((option) => isOfKind(option, value));
      if (meant !== undefined) checkShape(faults, meant, value, path);
      return;
    }
    default:
      // Other kinds have no further rules.
      return;
  }
}

function checkMap(
  faults: Faults,
  shape: Extract<Shape, { kind: 'map' }>,
  value: Readonly<Record<string, unknown>>,
  path: Path,
): void {
  for (const [key, item] of Object.entries(value)) {
    if (shape.keys?.pattern.test(key) === false)
      faults.add([...path, key], {
        rule: 'Y2',
        atKey: true,
        message: `the name ${describeValue(key)} cannot be used in ${nameOf(path)}`,
        fix: `give ${shape.keys.wanted}`,
      });
    checkShape(faults, shape.of, item, [...path, key]);
  }
}

function checkFields(
  faults: Faults,
  shape: Extract<Shape, { kind: 'fields' }>,
  value: Readonly<Record<string, unknown>>,
  path: Path,
): void {
  const names = Object.keys(shape.fields);
  const canonical = new Map<string, string>();
  for (const [name, { aliases = [] }] of Object.entries(shape.fields)) {
    for (const spelling of [name, ...aliases]) canonical.set(spelling, name);
  }
  const seen = new Map<string, string>();
  for (const [key, item] of Object.entries(value)) {
    const name = canonical.get(key);
    if (name === undefined) {
      faults.add([...path, key], { rule: 'Y2', atKey: true, ...unknownField(key, names, shape) });
      continue;
    }
    const other = seen.get(name);
    if (other !== undefined) {
      const message = `${key} says the same as ${other}`;
      faults.add([...path, key], { rule: 'Y2', atKey: true, message, fix: 'keep one of the two' });
    }
    seen.set(name, key);
    checkShape(faults, (shape.fields[name] as Field).shape, item, [...path, key]);
  }
  for (const [name, { isRequired, description }] of Object.entries(shape.fields)) {
    if (isRequired !== true || seen.has(name)) continue;
    const message = `${path.length === 0 ? 'the workflow' : nameOf(path)} has no \`${name}\``;
    faults.add(path, { rule: 'Y2', message, fix: `add \`${name}:\`: ${description}` });
  }
}

/** The message for an unknown field. */
function unknownField(
  key: string,
  names: readonly string[],
  { rejected = {}, elsewhere }: Extract<Shape, { kind: 'fields' }>,
): { readonly message: string; readonly fix: string } {
  if (Object.hasOwn(rejected, key)) return { message: `\`${key}\` has no effect here`, fix: rejected[key] as string };
  const near = nearest(key, names);
  const other = elsewhere === undefined ? 'remove it, or use' : `${elsewhere}; or use`;
  const fix = near === undefined ? other : `did you mean \`${near}\`? There are`;
  return { message: `there is no field \`${key}\``, fix: `${fix}: ${names.join(', ')}` };
}

/** Reads a field by its name or another spelling. */
export function readField(fields: Fields, value: Readonly<Record<string, unknown>>, name: string): unknown {
  const key = [name, ...(fields[name]?.aliases ?? [])].find((spelling) => Object.hasOwn(value, spelling));
  return key === undefined ? undefined : value[key];
}

export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isOfKind(shape: Shape, value: unknown): boolean {
  switch (shape.kind) {
    case 'any':
      return true;
    case 'null':
      return value === null;
    case 'text':
    case 'choice':
      return typeof value === 'string';
    case 'flag':
      return typeof value === 'boolean';
    case 'number':
      return typeof value === 'number';
    case 'list':
      return Array.isArray(value);
    case 'map':
    case 'fields':
      return isMapping(value);
    default:
      return shape.of.some((option) => isOfKind(option, value));
  }
}

function wantedBy(shape: Shape): string {
  switch (shape.kind) {
    case 'any':
      return 'a value';
    case 'null':
      return 'nothing';
    case 'text':
      return shape.wanted ?? 'a text';
    case 'flag':
      return 'true or false';
    case 'number': {
      const kind = shape.isWhole === true ? 'a whole number' : 'a number';
      if (shape.max === undefined) return shape.min === undefined ? kind : `${kind} of at least ${shape.min}`;
      return `${kind} from ${shape.min ?? '-∞'} to ${shape.max}`;
    }
    case 'choice':
      return `one of: ${shape.of.join(', ')}`;
    case 'list':
      return 'a list (lines that begin with `- `)';
    case 'map':
    case 'fields':
      return 'a mapping (`name: value`)';
    default:
      return shape.wanted;
  }
}

/** The name of a part of the file in messages. */
function nameOf(path: Path): string {
  const last = path.at(-1);
  if (last === undefined) return 'the file';
  return typeof last === 'number' ? `item ${last + 1} of ${String(path.at(-2))}` : `\`${last}\``;
}

/** A wrong value as messages show it. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a mapping';
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
