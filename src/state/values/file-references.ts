/** Finds the files that a value refers to. */
import { FileRef } from '../../graph/file-ref.ts';

/**
 * Matches an encoded {@link FileRef}. Nothing else can look like this, because a user's own text is escaped and a user's `$` is encoded as
 * a tag.
 */
const writtenFile = /"\$":"file","hash":"([0-9a-f]{64})"/gu;

/** Hashes of the files in a value's JSON text, without duplicates. */
export function fileHashesIn(json: string): readonly string[] {
  if (!json.includes('"$":"file"')) return [];
  return [...new Set(Array.from(json.matchAll(writtenFile), ([, hash = '']) => hash))];
}

/** The files in a validated value, in order, with duplicates. */
export function filesIn(value: unknown): readonly FileRef[] {
  if (typeof value !== 'object' || value === null) return [];
  if (value instanceof FileRef) return [value];
  if (value instanceof Map) return [...value].flatMap(filesIn);
  if (Array.isArray(value) || value instanceof Set) return Array.from(value as Iterable<unknown>).flatMap(filesIn);
  if (value instanceof Uint8Array) return [];
  return Object.values(value).flatMap(filesIn);
}
