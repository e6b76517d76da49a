/** What the model is shown of a tool's result: all of it if it is short, otherwise its two ends and a file with the whole. */
import type { FileAccess } from '../../graph/contracts/context-access.ts';
import type { ToolResultPart } from '../../graph/contracts/model-contract.ts';
import { FileRef } from '../../graph/file-ref.ts';
import { mapLeaves } from '../../nodes/draft/map-leaves.ts';
import { encodeValue } from '../../state/values/codec.ts';

/** The longest result that a model is shown whole, in bytes. */
const shownBytesMax = 64 * 1024;
/** Characters kept from each end of a result that is too long to show whole. */
const endCharacters = 8 * 1024;

/** What a model is told as the result of a call. */
export interface Observation {
  readonly output: unknown;
  /** The result with images, for a model that accepts them. */
  readonly parts?: NonNullable<ToolResultPart['parts']>;
  readonly isError?: true;
  /** Name of the step, question or child run that the call was recorded as. */
  readonly from?: string;
  /** Whether that record holds the result. */
  readonly isHeld?: boolean;
  /** Whether equal calls get this result. */
  readonly isKept?: boolean;
  /** Whether it is the result of an earlier equal call. */
  readonly isCached?: true;
}

/** The last value of a function that yields several. The earlier ones are reported as they come. */
export async function lastOf(result: unknown, tell: (value: unknown) => void): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result;
  let last: { readonly value: unknown } | undefined;
  for await (const value of result as AsyncIterable<unknown>) {
    if (last !== undefined) tell(last.value);
    last = { value };
  }
  return last?.value;
}

/** A result in a form that can be stored: bytes become a file. */
export async function storable(result: unknown, files: FileAccess, name: string): Promise<unknown> {
  if (!(result instanceof Uint8Array)) return result ?? null;
  return files.put(result, { name: `${name}.bin` });
}

/** A stored result as the model is shown it. @param showsImages - whether an image is shown; if not, it is only described */
export function observation(result: unknown, showsImages = false): Observation {
  const output = observe(result);
  if (!showsImages || !(result instanceof FileRef) || !result.type.startsWith('image/')) return { output };
  const image = { type: 'image', data: result, mediaType: result.type, name: result.name } as const;
  return { output, parts: [{ type: 'text', text: output as string }, image] };
}

/** The text or value that the model reads. */
function observe(result: unknown): unknown {
  if (typeof result === 'string') return ends(result, result);
  const shown = mapLeaves(result, (leaf) => (leaf instanceof FileRef ? describeFile(leaf) : leaf));
  return typeof shown === 'string' ? shown : ends(encodeValue(shown), shown);
}

function describeFile({ name, type, sizeBytes, hash }: FileRef): string {
  return `[file ${name}, ${type}, ${sizeBytes} bytes, ${hash.slice(0, 12)}]`;
}

/** Shortens a long text. @param text - the result as text. @param whole - what is shown if the text is short */
function ends(text: string, whole: unknown): unknown {
  if (text.length <= shownBytesMax) return whole;
  const left = text.length - 2 * endCharacters;
  return `${text.slice(0, endCharacters)}\n[… ${left} characters are left out here …]\n${text.slice(-endCharacters)}`;
}
