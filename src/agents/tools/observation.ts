/** What the model is shown of a tool's result: all of it if it is short, otherwise its two ends and where the whole is. */
import { mapLeaves } from '../../nodes/draft/computed.ts';
import { toJson } from '../../state/values/to-json.ts';
import type { FileAccess } from '../../graph/contracts/access.ts';
import type { ToolResultPart } from '../../graph/contracts/model-messages.ts';
import { FileRef } from '../../graph/file-ref.ts';
import { copyValue } from '../../state/values/admit.ts';

/** The longest result that a model is shown whole, in bytes. */
const resultBytesMax = 64 * 1024;
/** Bytes shown of each end of a result that is too long to show whole. */
const endBytes = 8 * 1024;
/** The deepest nesting of a result that has no record of its own, and becomes part of that of the next model call. */
const composedDepthMax = 100;

/** What a model gets as the result of a call. */
export interface Observation {
  readonly output: unknown;
  /** The result with images, for a model that accepts them. */
  readonly parts?: NonNullable<ToolResultPart['parts']>;
  readonly isError?: true;
  /** Name of the step, question or child run that the call was recorded as. */
  readonly from?: string;
  /** If that is a child run: id of the node whose output is the result, or of several, or null if its artifacts are. */
  readonly node?: string | readonly string[] | null;
  /** Whether that record holds the result. */
  readonly isRecorded?: boolean;
  /** A result that no record holds, if it is too long to show whole. */
  readonly whole?: FileRef;
  /** Whether equal calls get this result. */
  readonly isKept?: boolean;
  /** Whether it is the result of an earlier equal call. */
  readonly isCached?: true;
}

/** The last value of a function that yields several. The earlier ones are reported as they come. */
export async function lastOf(result: unknown, onPart: (value: unknown) => void): Promise<unknown> {
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return result;
  let last: { readonly value: unknown } | undefined;
  for await (const value of result as AsyncIterable<unknown>) {
    if (last !== undefined) onPart(last.value);
    last = { value };
  }
  return last?.value;
}

/** A result in the form in which it is stored: bytes become a file. */
export async function storable(result: unknown, files: FileAccess, name: string): Promise<unknown> {
  if (!(result instanceof Uint8Array)) return result ?? null;
  return files.put(result, { name: `${name}.bin` });
}

/**
 * A stored result as the model is shown it. @param from - name of the record that holds it. @param showsImages - else an image is described
 */
export function observation(result: unknown, from: string, showsImages = false): Observation {
  const text = textOf(result);
  const output = shorten(text, `is on record as ${from}`) ?? legible(result);
  if (!showsImages || !(result instanceof FileRef) || !result.type.startsWith('image/')) return { output };
  const image = { type: 'image', data: result, mediaType: result.type, name: result.name } as const;
  return { output, parts: [{ type: 'text', text }, image] };
}

/**
 * The result of a composed tool, which has no record of its own, as the model is shown it. If it is too long for that, it is stored as a
 * file.
 * @throws VALUE_UNSTORABLE
 */
export async function composedObservation(
  result: unknown,
  files: FileAccess,
  name: string,
  showsImages = false,
): Promise<Observation> {
  const limits = { valueBytes: Infinity, valueDepth: composedDepthMax };
  const value = copyValue(await storable(result, files, name), [name], limits);
  const text = textOf(value);
  if (!isLong(text)) return observation(value, name, showsImages);
  const whole = await files.put(Buffer.from(text), { name: `${name}.txt`, type: 'text/plain' });
  return { output: shorten(text, `is ${describeFile(whole)}`), whole };
}

/** The two ends of a text that is too long to show whole; undefined if it is not. @param place - says where the whole is */
export function shorten(text: string, place: string): string | undefined {
  if (!isLong(text)) return undefined;
  // Cut between characters, never inside of one.
  const head = Buffer.from(text.slice(0, endBytes)).subarray(0, endBytes);
  const first = new TextDecoder().decode(head, { stream: true });
  const tail = Buffer.from(text.slice(-endBytes)).subarray(-endBytes);
  const last = tail.subarray(tail.findIndex((byte) => (byte & 0xc0) !== 0x80)).toString();
  const omitted = Buffer.byteLength(text) - Buffer.byteLength(first) - Buffer.byteLength(last);
  return `${first}\n[… ${omitted} bytes are left out here; the whole ${place} …]\n${last}`;
}

function isLong(text: string): boolean {
  // One UTF-16 unit takes at most three bytes.
  return text.length * 3 > resultBytesMax && Buffer.byteLength(text) > resultBytesMax;
}

/** The result as text, whole. */
function textOf(result: unknown): string {
  const readable = legible(result);
  return typeof readable === 'string' ? readable : JSON.stringify(readable);
}

/** A stored value as a model can read it: as plain JSON, with files and bytes described. Providers refuse a text with half a character. */
function legible(result: unknown): unknown {
  return mapLeaves(result, (leaf) => {
    if (typeof leaf === 'string') return leaf.toWellFormed();
    if (leaf instanceof FileRef) return describeFile(leaf);
    return leaf instanceof Uint8Array ? `[${leaf.byteLength} bytes]` : toJson(leaf);
  });
}

function describeFile({ name, type, sizeBytes, hash }: FileRef): string {
  return `[file ${name}, ${type}, ${sizeBytes} bytes, ${hash.slice(0, 12)}]`;
}
