/** Says what a value is, in errors about values of the wrong kind. */
import { isPlainObject } from './plain.ts';

/** `a string`, `a list`, `a Promise`, … */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'undefined';
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'object') return `a ${typeof value}`;
  const { constructor } = value as { readonly constructor?: unknown };
  return isPlainObject(value) || typeof constructor !== 'function' ? 'an object' : `a ${constructor.name}`;
}
