/** Says in a line where two values differ. */
import { isDeepStrictEqual } from 'node:util';

const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/**
 * Where two values differ first: the path, and both values there. Undefined if they are equal.
 * @param lengthMax - characters of each value that are told
 */
export function firstDifference(before: unknown, now: unknown, lengthMax: number): readonly string[] | undefined {
  return differenceAt(before, now, lengthMax, '');
}

function differenceAt(before: unknown, now: unknown, lengthMax: number, path: string): readonly string[] | undefined {
  if (isDeepStrictEqual(before, now)) return undefined;
  if (isTable(before) && isTable(now) && Array.isArray(before) === Array.isArray(now)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(now)])) {
      const found = differenceAt(before[key], now[key], lengthMax, path === '' ? key : `${path}.${key}`);
      if (found !== undefined) return found;
    }
  }
  const [was, is] = [inShort(before, lengthMax), inShort(now, lengthMax)];
  return [`${path === '' ? 'the output' : path} was ${was}, and is ${is}`];
}

function inShort(value: unknown, lengthMax: number): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text;
}
