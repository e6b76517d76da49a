/** The operations of EditFile. Each turns one text into another. */
import { runInNewContext } from 'node:vm';
import { isPlainObject } from '../../../state/values/plain-object.ts';
import { parseJson } from '../block-options.ts';
import { applyUnifiedDiff } from './text-diff.ts';

// Finds the matches of a regular expression from an untrusted author in bounded time. Some expressions take exponential time on some texts.

export interface Match {
  readonly index: number;
  /** The whole match, then its groups. A group that took no part is null. */
  readonly groups: readonly (string | null)[];
  readonly names: Readonly<Record<string, string | null>>;
}

/** Runs in a separate V8 context, the only way to stop a regular expression that is being matched. */
const script = `JSON.stringify([...text.matchAll(new RegExp(pattern, flags))].map((match) => ({
  index: match.index,
  groups: [...match],
  names: Object.fromEntries(Object.entries(match.groups ?? {}).map(([name, group]) => [name, group ?? null])),
})))`;

/** Finds all matches. @param flags - must contain `g`. @throws Error the pattern is invalid, or takes longer than `timeoutMs` */
export function findMatches(text: string, pattern: string, flags: string, timeoutMs: number): readonly Match[] {
  try {
    return JSON.parse(runInNewContext(script, { text, pattern, flags }, { timeout: timeoutMs }) as string) as Match[];
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    throw new Error(code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? `the pattern takes over ${timeoutMs} ms` : message, {
      cause: error,
    });
  }
}

/** Thrown when an operation cannot be applied; the message says why. */
export class EditFault extends Error {}

type Operation = Readonly<Record<string, unknown>>;
type Apply = (text: string, operation: Operation) => string;

const operations: Readonly<Record<string, { readonly fields: readonly string[]; readonly apply: Apply }>> = {
  replace_text: { fields: ['old_text', 'new_text', 'count'], apply: replaceText },
  replace_lines: { fields: ['line_start', 'line_end', 'content'], apply: replaceLines },
  insert_lines: { fields: ['line_start', 'content'], apply: insertLines },
  delete_lines: { fields: ['line_start', 'line_end'], apply: deleteLines },
  patch: { fields: ['patch'], apply: patchText },
  regex_replace: { fields: ['pattern', 'replacement', 'flags'], apply: replacePattern },
};

/** Reads a list of operations from a value or from JSON text. @throws EditFault names the first invalid one */
export function readOperations(value: unknown): readonly Operation[] {
  const list = typeof value === 'string' ? parseJson(value) : value;
  if (!Array.isArray(list) || list.length === 0) throw new EditFault('operations must be a list of at least one');
  return list.map((operation: unknown, index) => {
    const place = `operations[${index}]`;
    if (!isPlainObject(operation)) throw new EditFault(`${place} is no object`);
    const known = operations[String(operation['type'])];
    if (known === undefined || !Object.hasOwn(operations, String(operation['type'])))
      throw new EditFault(`${place}.type must be one of ${Object.keys(operations).join(', ')}`);
    const stray = Object.keys(operation).find((key) => key !== 'type' && !known.fields.includes(key));
    if (stray !== undefined) throw new EditFault(`${place}.${stray} is none of ${known.fields.join(', ')}`);
    return operation;
  });
}

/** Applies an operation. @throws EditFault it does not fit the text */
export function applyOperation(text: string, operation: Operation): string {
  return (operations[String(operation['type'])] as { readonly apply: Apply }).apply(text, operation);
}

function replaceText(text: string, operation: Operation): string {
  const before = readText(operation, 'old_text');
  const after = readText(operation, 'new_text');
  const count = operation['count'] === undefined ? -1 : readWhole(operation, 'count', -1);
  if (before === '') throw new EditFault('old_text is empty');
  const pieces = text.split(before);
  const times = count < 0 ? pieces.length - 1 : Math.min(count, pieces.length - 1);
  return pieces.reduce((whole, piece, index) => whole + (index <= times ? after : before) + piece);
}

/** Splits a text into lines, each with the newline that ends it. */
function splitLines(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/);
}

function lineEndOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

/** Splits new content into lines that end like those of the text. */
function linesOf(content: string, text: string): string[] {
  const end = lineEndOf(text);
  const lines = content.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => line + end);
}

function replaceLines(text: string, operation: Operation): string {
  const lines = splitLines(text);
  const { first, last } = readRange(operation, lines.length);
  return splice(lines, first, last, linesOf(readText(operation, 'content'), text));
}

function insertLines(text: string, operation: Operation): string {
  const lines = splitLines(text);
  const first = readWhole(operation, 'line_start', 1);
  if (first > lines.length + 1) throw new EditFault(`line_start is ${first}, but there are ${lines.length} lines`);
  return splice(lines, first, first - 1, linesOf(readText(operation, 'content'), text));
}

function deleteLines(text: string, operation: Operation): string {
  const lines = splitLines(text);
  const { first, last } = readRange(operation, lines.length);
  return splice(lines, first, last, []);
}

/** Replaces lines. If the last line has no newline at its end, the result has none either. */
function splice(lines: readonly string[], first: number, last: number, between: readonly string[]): string {
  const isOpen = lines.length > 0 && lines.at(-1)?.endsWith('\n') === false;
  const before = lines.slice(0, first - 1);
  const after = lines.slice(last);
  const closed = before.map((line) => (line.endsWith('\n') ? line : line + lineEndOf(lines.join(''))));
  const whole = [...closed, ...between, ...after].join('');
  return isOpen && after.length === 0 ? whole.replace(/\r?\n$/, '') : whole;
}

function readRange(operation: Operation, count: number): { readonly first: number; readonly last: number } {
  const first = readWhole(operation, 'line_start', 1);
  const last = readWhole(operation, 'line_end', first);
  if (last > count) throw new EditFault(`line_end is ${last}, but there are ${count} lines`);
  return { first, last };
}

function patchText(text: string, operation: Operation): string {
  const applied = applyUnifiedDiff(text, readText(operation, 'patch'));
  if (applied === undefined) throw new EditFault('the patch does not fit the text');
  return applied;
}

const flagLetters: Readonly<Record<string, string>> = { IGNORECASE: 'i', MULTILINE: 'm', DOTALL: 's' };

function replacePattern(text: string, operation: Operation): string {
  const replacement = readText(operation, 'replacement');
  const pattern = readText(operation, 'pattern').replaceAll('(?P<', '(?<');
  let whole = '';
  let end = 0;
  for (const match of listMatches(text, pattern, readFlags(operation['flags'] ?? []))) {
    whole += text.slice(end, match.index) + expand(replacement, match);
    end = match.index + (match.groups[0]?.length ?? 0);
  }
  return whole + text.slice(end);
}

function listMatches(text: string, pattern: string, flags: string): readonly Match[] {
  try {
    return findMatches(text, pattern, flags, 1_000);
  } catch (error) {
    throw new EditFault((error as Error).message);
  }
}

function readFlags(names: unknown): string {
  if (!Array.isArray(names)) throw new EditFault('flags must be a list');
  const letters = names.map((name) => flagLetters[String(name)] ?? unknownFlag(name));
  return ['g', 'u', ...new Set(letters)].join('');
}

function unknownFlag(name: unknown): never {
  throw new EditFault(`flag ${String(name)} is none of ${Object.keys(flagLetters).join(', ')}`);
}

/** Expands a replacement: `\1` and `\g<name>` stand for groups, `\n` and `\t` for newline and tab, `\\` for a backslash. */
function expand(replacement: string, { groups, names }: Match): string {
  return replacement.replaceAll(
    /\\(?:(\d{1,2})|g<(\w+)>|([nt\\]))/g,
    (_, index?: string, name?: string, escape?: string) => {
      if (escape !== undefined) return { n: '\n', t: '\t' }[escape] ?? '\\';
      const key = index ?? name ?? '';
      const group = /^\d+$/.test(key) ? groups[Number(key)] : Object.hasOwn(names, key) ? names[key] : undefined;
      if (group === undefined) throw new EditFault(`the pattern has no group ${key}`);
      return group ?? '';
    },
  );
}

function readText(operation: Operation, name: string): string {
  const value = operation[name];
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new EditFault(value === undefined ? `${name} is missing` : `${name} is no text`);
}

function readWhole(operation: Operation, name: string, min: number): number {
  const value = operation[name];
  const number = typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < min)
    throw new EditFault(`${name} must be a whole number of at least ${min}`);
  return number;
}
