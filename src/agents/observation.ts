/** What the model is shown of a tool's result: all of it if it is short, else its ends and a file that holds the rest. */
import type { ToolResultPart } from '../graph/contracts/model-contract.ts';
import type { FileAccess } from '../graph/contracts/node-contract.ts';
import { FileRef } from '../graph/file-ref.ts';
import { encodeValue } from '../state/values/codec.ts';

/** The longest result that a model is shown whole. */
const shownBytesMax = 64 * 1024;
/** Of a longer one, from each end. */
const endCharacters = 8 * 1024;

/** What a model is told in place of a result. */
export interface Observation {
  readonly output: unknown;
  readonly isError?: true;
}

/** A result as a value that can be stored: bytes become a file. */
export async function storable(result: unknown, files: FileAccess, name: string): Promise<unknown> {
  if (!(result instanceof Uint8Array)) return result ?? null;
  return files.put(result, { name: `${name}.bin` });
}

/** A stored result as the model reads it. */
export function observe(result: unknown): unknown {
  if (result instanceof FileRef)
    return `[file ${result.name}, ${result.type}, ${result.sizeBytes} bytes, ${result.hash.slice(0, 12)}]`;
  const text = typeof result === 'string' ? result : encodeValue(result);
  if (text.length <= shownBytesMax) return result;
  const left = text.length - 2 * endCharacters;
  return `${text.slice(0, endCharacters)}\n[… ${left} characters are left out here …]\n${text.slice(-endCharacters)}`;
}

/** The answer to a call, in the message that follows the model's. */
export function resultPart(
  call: { readonly id: string; readonly tool: string },
  { output, isError }: Observation,
): ToolResultPart {
  return { type: 'tool-result', id: call.id, tool: call.tool, output, ...(isError === true && { isError }) };
}
