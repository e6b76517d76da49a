/** Stored files in messages: whoever holds a conversation holds references, and a model is sent bytes. */
import type { FilePart, ImagePart, MediaData, ModelMessage } from '../graph/contracts/model-contract.ts';
import type { FileAccess } from '../graph/contracts/context-access.ts';
import { FileRef } from '../graph/file-ref.ts';
import { LastList } from './last-list.ts';

/** Fills the requests of a conversation. Each is mostly the one before with more at its end, so only what is new is looked at; no message is ever changed. */
export class MessageFiles {
  readonly #last = new LastList<ModelMessage>();
  /** How many messages at the beginning of the last request hold no file. */
  #plainCount = 0;

  /** The messages with the bytes of the files in them; each message that has none as it is. @throws BLOB_NOT_FOUND, BLOB_CORRUPT */
  async withBytes(messages: readonly ModelMessage[], files: FileAccess): Promise<readonly ModelMessage[]> {
    let plain = Math.min(this.#plainCount, this.#last.take(messages));
    while (plain < messages.length && !hasFile(messages[plain])) plain += 1;
    this.#plainCount = plain;
    if (plain === messages.length) return messages;
    const filled = messages
      .slice(plain)
      .map(async (message) => (hasFile(message) ? ((await fill(message, files)) as ModelMessage) : message));
    return [...messages.slice(0, plain), ...(await Promise.all(filled))];
  }
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
