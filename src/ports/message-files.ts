/** Stored files in messages: whoever holds a conversation holds references, and a model is sent bytes. */
import type { FilePart, ImagePart, MediaData, ModelMessage } from '../graph/contracts/model-contract.ts';
import type { FileAccess } from '../graph/contracts/context-access.ts';
import { FileRef } from '../graph/file-ref.ts';

/** The messages with the bytes of the files in them; each message that has none as it is. @throws BLOB_NOT_FOUND, BLOB_CORRUPT */
export async function fillFiles(
  messages: readonly ModelMessage[],
  files: FileAccess,
): Promise<readonly ModelMessage[]> {
  if (!messages.some(holdsFile)) return messages;
  return Promise.all(
    messages.map(async (message) => (holdsFile(message) ? ((await fill(message, files)) as ModelMessage) : message)),
  );
}

/** Messages that were looked at and hold no file: a conversation is sent again and again, and none of its messages is ever changed. */
const plain = new WeakSet<ModelMessage>();

function holdsFile(message: ModelMessage): boolean {
  if (plain.has(message)) return false;
  const isFound = hasFile(message);
  if (!isFound) plain.add(message);
  return isFound;
}

function hasFile(value: unknown): boolean {
  const { content, parts, data } = value as {
    readonly content?: unknown;
    readonly parts?: unknown;
    readonly data?: unknown;
  };
  const list = Array.isArray(content) ? content : parts;
  return Array.isArray(list) ? list.some(hasFile) : data instanceof FileRef;
}

/** Media stand in the parts of a message, and in the parts of results. */
async function fill(value: unknown, files: FileAccess): Promise<unknown> {
  const { content, parts } = value as { readonly content?: unknown; readonly parts?: unknown };
  const [key, list] = Array.isArray(content) ? ['content', content] : ['parts', parts];
  if (Array.isArray(list)) {
    const filled = await Promise.all((list as readonly unknown[]).map((part) => fill(part, files)));
    return filled.every((part, index) => part === list[index]) ? value : { ...(value as object), [key]: filled };
  }
  const { data } = value as { readonly data?: MediaData };
  return data instanceof FileRef ? fillPart(value as ImagePart | FilePart, data, files) : value;
}

async function fillPart(part: ImagePart | FilePart, file: FileRef, files: FileAccess): Promise<ImagePart | FilePart> {
  return { name: file.name, mediaType: file.type, ...part, data: await files.get(file) };
}
