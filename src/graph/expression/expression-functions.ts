/** Functions that expressions in texts have in addition to those of the language; see docs/spec/yaml-expressions.md. */
import { fitsPattern } from './pattern.ts';
import { FieldReader, jsonText, renderText } from './expression-meter.ts';

const maxRange = 100_000;

function range(count: number | bigint): readonly bigint[] {
  const length = Number(count);
  if (!Number.isInteger(length) || length < 0 || length > maxRange) {
    throw new Error(`range(${count}): give a whole number from 0 to ${maxRange}`);
  }
  return Array.from({ length }, (_, index) => BigInt(index));
}

/** Encodes a value as one part of a URL. `.` and `..` are refused: they would lead to another path, and a URL cannot mark them as names. */
function urlPart(value: unknown): string {
  const text = renderText(value);
  if (text === '.' || text === '..') throw new Error(`${JSON.stringify(text)} can be no part of a URL`);
  if (!text.isWellFormed()) throw new Error('the text has a lone surrogate, which no URL can hold');
  return encodeURIComponent(text);
}

function entriesOf(value: unknown, name: string): readonly (readonly [unknown, unknown])[] {
  const map = value instanceof FieldReader ? value.plain() : value;
  if (map instanceof Map) return [...(map as Map<unknown, unknown>)];
  if (typeof map === 'object' && map !== null && !Array.isArray(map)) return Object.entries(map);
  throw new Error(`${name}() takes a map`);
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new Error(`the text is no JSON: ${(cause as Error).message}`, { cause });
  }
}

/** Whether a value counts as true in a template. Null, 0 and empty values do not. */
export function isTruthy(value: unknown): boolean {
  if (value instanceof FieldReader) return true;
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Map || value instanceof Set) return value.size > 0;
  if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype)
    return Object.keys(value).length > 0;
  return Boolean(value);
}

/** Signature of our replacement for the language's `matches`. The name differs so that the two do not clash. */
export const matchSignature = 'string.matches_(string): bool';

export function matchFunction(text: string, pattern: string): boolean {
  return fitsPattern(text, pattern, '');
}

/** Name of the function that joins the pieces of a string with references. Only the code that parses such strings writes calls of it. */
export const textFunction = 'text_';

/** The functions by their signature. */
export const textFunctions: Readonly<Record<string, (...parameters: never[]) => unknown>> = {
  [`${textFunction}(list): string`]: (parts: readonly unknown[]) => parts.map(renderText).join(''),
  'json(dyn): string': (value: unknown) => jsonText(value),
  'json(dyn, int): string': (value: unknown, indent: bigint) => jsonText(value, Math.min(Number(indent), 10)),
  'fromjson(string): dyn': readJson,
  'lower(dyn): string': (value: unknown) => renderText(value).toLowerCase(),
  'upper(dyn): string': (value: unknown) => renderText(value).toUpperCase(),
  'replace(dyn, string, string): string': (value: unknown, from: string, to: string) =>
    renderText(value).replaceAll(from, () => to),
  'abs(int): int': (number: bigint) => (number < 0n ? -number : number),
  'abs(double): double': Math.abs,
  'truthy(dyn): bool': isTruthy,
  'urlencode(dyn): string': urlPart,
  'trim(dyn): string': (value: unknown) => renderText(value).trim(),
  'join(list, string): string': (list: Iterable<unknown>, separator: string) =>
    Array.from(list, renderText).join(separator),
  'split(string): list<string>': (text: string) => text.split(/\s+/).filter((word) => word !== ''),
  'split(string, string): list<string>': (text: string, separator: string) => text.split(separator),
  'keys(dyn): list<dyn>': (value: unknown) => entriesOf(value, 'keys').map(([key]) => key),
  'values(dyn): list<dyn>': (value: unknown) => entriesOf(value, 'values').map(([, item]) => item),
  'range(int): list<int>': range,
  'range(double): list<int>': range,
  'string(null): string': () => '',
  'string(list): string': jsonText,
  'string(map): string': jsonText,
};
