/** How the parts of validation report what they find: all of it, never only the first (G7). */
import { amountsFault } from '../amounts.ts';
import type { Violation } from '../graph.ts';

/** Collects violations. */
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

/** Why a string cannot be an id, or undefined if it can: any text of 1 to 512 bytes of UTF-8 will do. */
export function idFault(id: unknown): string | undefined {
  if (typeof id !== 'string') return `is ${id === null ? 'null' : `of type ${typeof id}`}, not text`;
  if (id === '') return 'is empty';
  if (!id.isWellFormed()) return 'holds a lone surrogate, which no encoding can keep';
  if (Buffer.byteLength(id) > 512) return 'is longer than 512 bytes';
  return undefined;
}

/** A wrong value as a message shows it; JSON has no word for some of them. */
function shown(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (typeof value === 'function' || typeof value === 'symbol' || value === undefined) return `a ${typeof value}`;
  return JSON.stringify(value);
}

/** Reports fields that nothing reads: what is accepted has an effect (G9). */
export function checkFields(report: Report, place: string, value: object, known: readonly string[]): void {
  for (const field of Object.keys(value)) {
    if (known.includes(field)) continue;
    report.error(
      'G9',
      place,
      `unknown field ${JSON.stringify(field)}`,
      `remove it, or use one of: ${known.join(', ')}`,
    );
  }
}

/** Reports amounts that are none. */
export function checkAmounts(report: Report, place: string, field: string, amounts: unknown): void {
  const fault = amounts === undefined ? undefined : amountsFault(amounts);
  if (fault !== undefined) report.error('Q1', place, `${field}: ${fault}`, 'give numbers by unit, or leave it out');
}

/** Reports a value that is none of those listed. */
export function checkOneOf(
  report: Report,
  rule: string,
  place: string,
  field: string,
  value: unknown,
  allowed: readonly string[],
): void {
  if (value === undefined || (typeof value === 'string' && allowed.includes(value))) return;
  report.error(rule, place, `${field} is ${shown(value)}`, `use one of: ${allowed.join(', ')}`);
}

/** Reports a value of another type. */
export function checkType(
  report: Report,
  place: string,
  field: string,
  value: unknown,
  type: 'string' | 'boolean' | 'function',
): void {
  const name = type === 'string' ? 'text' : type === 'boolean' ? 'true or false' : 'a function';
  if (value !== undefined && typeof value !== type)
    report.error('G9', place, `${field} is ${shown(value)}`, `give ${name}`);
}

/** Reports a number outside its range; `isWhole` asks for an integer. */
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
  report.error('G9', place, `${field} is ${shown(value)}`, `give ${kind} from ${range.min} to ${max}`);
}
