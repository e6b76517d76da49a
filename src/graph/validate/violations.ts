/** How the parts of validation report violations: all of them, not only the first (G7). */
import { boundsFault } from '../amounts.ts';
import type { Violation } from '../graph.ts';

/** Collects violations; one method for each severity. */
export interface Report {
  error(rule: string, place: string, message: string, fix: string): void;
  warn(rule: string, place: string, message: string, fix: string): void;
  readonly violations: readonly Violation[];
}

export function createReport(): Report {
  const violations: Violation[] = [];
  const add = (severity: Violation['severity']) => (rule: string, place: string, message: string, fix: string) => {
    violations.push(Object.freeze({ rule, severity, place, message, fix }));
  };
  return { error: add('error'), warn: add('warning'), violations };
}

/** Why a value cannot be an id; undefined if it can. Any text of 1 to 512 bytes of UTF-8 is allowed. */
export function idFault(id: unknown): string | undefined {
  if (typeof id !== 'string') return `is ${id === null ? 'null' : `of type ${typeof id}`}, not text`;
  if (id === '') return 'is empty';
  if (!id.isWellFormed()) return 'holds a lone surrogate, which no encoding can keep';
  if (Buffer.byteLength(id) > 512) return 'is longer than 512 bytes';
  return undefined;
}

/** A wrong value as messages show it, cut off if it is long. Some values cannot be written as JSON. */
export function formatValue(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (typeof value === 'function' || typeof value === 'symbol' || value === undefined) return `a ${typeof value}`;
  const text = jsonOf(value);
  return text.length > formattedMax ? `${text.slice(0, formattedMax)}…` : text;
}

const formattedMax = 100;

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return 'a value that is no JSON';
  }
}

/** Reports unknown fields, because every accepted field must have an effect (G9). @param path - before the names of fields */
export function checkFields(report: Report, place: string, value: object, known: readonly string[], path = ''): void {
  for (const field of Object.keys(value)) {
    if (known.includes(field)) continue;
    report.error(
      'G9',
      place,
      `unknown field ${JSON.stringify(`${path}${field}`)}`,
      `remove it, or use one of: ${known.join(', ')}`,
    );
  }
}

/** Reports a value that is not valid as a bound. */
export function checkBounds(report: Report, place: string, field: string, bounds: unknown): void {
  const fault = bounds === undefined ? undefined : boundsFault(bounds);
  if (fault !== undefined) report.error('Q1', place, `${field}: ${fault}`, 'give numbers by unit, or leave it out');
}

/** Reports a value that is not in the list of allowed ones. */
export function checkOneOf(
  report: Report,
  rule: string,
  place: string,
  field: string,
  value: unknown,
  allowed: readonly string[],
): void {
  if (value === undefined || (typeof value === 'string' && allowed.includes(value))) return;
  report.error(rule, place, `${field} is ${formatValue(value)}`, `use one of: ${allowed.join(', ')}`);
}

/** Reports a value of the wrong type. */
export function checkType(
  report: Report,
  place: string,
  field: string,
  value: unknown,
  type: 'string' | 'boolean' | 'function',
): void {
  const name = type === 'string' ? 'text' : type === 'boolean' ? 'true or false' : 'a function';
  if (value !== undefined && typeof value !== type)
    report.error('G9', place, `${field} is ${formatValue(value)}`, `give ${name}`);
}

/** Reports a number outside its range. `isWhole` requires an integer. */
export function checkRange(
  report: Report,
  place: string,
  field: string,
  value: unknown,
  range: { readonly min: number; readonly max?: number; readonly isWhole?: boolean },
): void {
  if (value === undefined) return;
  const max = range.max ?? Number.MAX_SAFE_INTEGER;
  const isWhole = range.isWhole ?? true;
  const fits = typeof value === 'number' && value >= range.min && value <= max && (!isWhole || Number.isInteger(value));
  if (fits) return;
  const kind = isWhole ? 'a whole number' : 'a number';
  report.error('G9', place, `${field} is ${formatValue(value)}`, `give ${kind} from ${range.min} to ${max}`);
}

/** Checks which limits something is under. */
export function checkLimit(report: Report, place: string, limit: unknown): void {
  if (limit === undefined) return;
  const isRef = (one: unknown): boolean =>
    typeof one === 'string' ? one !== '' : typeof (one as { readonly name?: unknown } | null)?.name === 'string';
  if ((Array.isArray(limit) ? limit : [limit]).every(isRef)) return;
  report.error(
    'FL5',
    place,
    'limit is neither a limit nor its name, nor a list of them',
    "give what defineLimit returned, or its name: limit: 'openai'",
  );
}
