/** What the model is shown of a tool's result: all of it if it is short, else its ends and a file that holds the rest. */
import type { FileAccess } from '../graph/contracts/context-access.ts';
import type { ToolResultPart } from '../graph/contracts/model-contract.ts';
import { FileRef } from '../graph/file-ref.ts';
import { mapLeaves } from '../nodes/draft/map-leaves.ts';
import { encodeValue } from '../state/values/codec.ts';

/** The longest result that a model is shown whole. */
const shownBytesMax = 64 * 1024;
/** Of a longer one, from each end. */
const endCharacters = 8 * 1024;

/** What a model is told in place of a result. */
export interface Observation {
  readonly output: unknown;
  /** For a model that can look at images. */
  readonly parts?: NonNullable<ToolResultPart['parts']>;
  readonly isError?: true;
  /** The step, the question or the child run that the call is, by its name. */
  readonly from?: string;
  /** Its record holds the result. */
  readonly isHeld?: boolean;
  /** Equal calls take it. */
  readonly isKept?: boolean;
  /** It is the result of an equal call. */
  readonly isCached?: true;
}

/** The last value of a function that yields several; the ones before it are told as they come. */
export async function lastOf(result: unknown, tell: (value: unknown) => void): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result;
  let last: { readonly value: unknown } | undefined;
  for await (const value of result as AsyncIterable<unknown>) {
    if (last !== undefined) tell(last.value);
    last = { value };
  }
  return last?.value;
}

/** A result as a value that can be stored: bytes become a file. */
export async function storable(result: unknown, files: FileAccess, name: string): Promise<unknown> {
  if (!(result instanceof Uint8Array)) return result ?? null;
  return files.put(result, { name: `${name}.bin` });
}

/** A stored result as the model is shown it. @param showsImages - an image is shown, and not only told of */
export function observation(result: unknown, showsImages = false): Observation {
  const output = observe(result);
  if (!showsImages || !(result instanceof FileRef) || !result.type.startsWith('image/')) return { output };
  const image = { type: 'image', data: result, mediaType: result.type, name: result.name } as const;
  return { output, parts: [{ type: 'text', text: output as string }, image] };
}

/** A stored result as the model reads it. */
function observe(result: unknown): unknown {
  if (typeof result === 'string') return ends(result, result);
  const shown = mapLeaves(result, (leaf) => (leaf instanceof FileRef ? describeFile(leaf) : leaf));
  return typeof shown === 'string' ? shown : ends(encodeValue(shown), shown);
}

function describeFile({ name, type, sizeBytes, hash }: FileRef): string {
  return `[file ${name}, ${type}, ${sizeBytes} bytes, ${hash.slice(0, 12)}]`;
}

/** @param text - what is shown as text @param whole - the same as it is shown if it is short */
function ends(text: string, whole: unknown): unknown {
  if (text.length <= shownBytesMax) return whole;
  const left = text.length - 2 * endCharacters;
  return `${text.slice(0, endCharacters)}\n[… ${left} characters are left out here …]\n${text.slice(-endCharacters)}`;
}
