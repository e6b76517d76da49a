/** Files that hold a JSON object. They are parsed strictly, and written atomically with sorted keys. */
import { NodeFailure } from '../../../graph/contracts/node-contract.ts';
import { isPlainObject } from '../../../state/values/plain.ts';
import { fileFailure } from '../../file/file-failure.ts';
import { writeLocalFile } from '../../file/local-file.ts';
import type { IsGranted } from '../../file/reached-place.ts';
import { readRegularFile } from '../../file/read-regular-file.ts';
import { fileLimitBytes } from './text-encoding.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Reads a file; undefined if it does not exist. @throws NodeFailure JSON_INVALID, FILE_TOO_LARGE, NOT_A_FILE, or the code of the operating
 * system
 */
export async function readJsonFile(path: string, isGranted: IsGranted): Promise<JsonObject | undefined> {
  const bytes = await readRegularFile(path, { limitBytes: fileLimitBytes, isGranted }).catch((error: unknown) => {
    if (error instanceof NodeFailure && error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (bytes === undefined) return undefined;
  const value = parse(bytes, path);
  if (!isPlainObject(value)) throw fileFailure('JSON_INVALID', path, 'holds no JSON object');
  return value;
}

export interface JsonWrite {
  readonly path: string;
  readonly data: JsonObject;
  readonly createParents: boolean;
  readonly key: string;
  readonly isGranted: IsGranted;
}

/**
 * Writes a file with sorted keys, two spaces of indentation, and a newline at the end. @returns bytes written. @throws NodeFailure
 * JSON_INVALID `data` contains what JSON cannot express
 */
export async function writeJsonFile({ path, data, createParents, key, isGranted }: JsonWrite): Promise<number> {
  const bytes = Buffer.from(`${JSON.stringify(sortKeys(data), undefined, 2)}\n`);
  await writeLocalFile({ path, bytes, createParents, key, isGranted });
  return bytes.length;
}

/** Merges objects key by key. Any other value, lists and null included, replaces the old one. */
export function mergeDeep(before: JsonObject, updates: JsonObject): JsonObject {
  const merged = new Map<string, unknown>(Object.entries(before));
  for (const [key, update] of Object.entries(updates)) {
    const old = merged.get(key);
    merged.set(key, isPlainObject(old) && isPlainObject(update) ? mergeDeep(old, update) : update);
  }
  // Object.fromEntries treats `__proto__` like any other key.
  return Object.fromEntries(merged);
}

function sortKeys(value: unknown, place = 'data'): unknown {
  if (Array.isArray(value)) return value.map((item, index) => sortKeys(item, `${place}[${index}]`));
  if (!isPlainObject(value)) return isJson(value) ? value : refuseValue(place);
  const keys = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort();
  return Object.fromEntries(keys.map((key) => [key, sortKeys(value[key], `${place}.${key}`)]));
}

function isJson(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
}

function refuseValue(place: string): never {
  throw new NodeFailure(`${place} is a value that JSON does not have`, {
    code: 'JSON_INVALID',
    applied: 'no',
    data: { place },
  });
}

function parse(bytes: Buffer, path: string): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return JSON.parse(text, keepExact) as unknown;
  } catch (error) {
    throw fileFailure('JSON_INVALID', path, error instanceof RangeError ? error.message : 'is no valid JSON');
  }
}

/** Refuses integers that a number cannot hold exactly: they would be written back changed. */
function keepExact(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const isRounded = typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '');
  if (isRounded) throw new RangeError(`holds ${context?.source ?? ''}, which is too large to be kept exactly`);
  return value;
}
