/** Finding the files that a value names. */
import { FileRef } from '../../graph/file-ref.ts';

/** As a {@link FileRef} is written: the one place where its tag has this form, since a user's own text is escaped and its `$` is tagged. */
const writtenFile = /"\$":"file","hash":"([0-9a-f]{64})"/gu;

/** Hashes of the files named in the encoding of a value, each once. */
export function fileHashesIn(json: string): readonly string[] {
  if (!json.includes('"$":"file"')) return [];
  return [...new Set(Array.from(json.matchAll(writtenFile), ([, hash = '']) => hash))];
}

/** The files in an admitted value, in order; one that is named twice is there twice. */
export function filesIn(value: unknown): readonly FileRef[] {
  if (typeof value !== 'object' || value === null) return [];
  if (value instanceof FileRef) return [value];
  if (value instanceof Map) return [...value].flatMap(filesIn);
  if (Array.isArray(value) || value instanceof Set) return Array.from(value as Iterable<unknown>).flatMap(filesIn);
  if (value instanceof Uint8Array) return [];
  return Object.values(value).flatMap(filesIn);
}
