/** Checks messages that code gives as a prompt: those of another library look alike, and would be told to the model in part. */
import { isPlainObject } from '../state/values/plain.ts';

const roles = ['system', 'user', 'assistant', 'tool'];
/** The fields that a part of each type cannot be without. */
const fieldsOfParts: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  reasoning: ['text'],
  image: ['data'],
  file: ['data', 'mediaType'],
  'tool-call': ['id', 'tool'],
  'tool-result': ['id', 'tool'],
};

/** What is wrong with messages, as the end of a sentence; undefined if nothing is. */
export function messagesFault(messages: unknown): string | undefined {
  if (messages instanceof Promise) return kindOf(messages);
  if (!Array.isArray(messages)) return `${kindOf(messages)}, not a text or messages`;
  for (const [index, message] of messages.entries()) {
    const fault = messageFault(message);
    if (fault !== undefined) return `a message ${index + 1} that ${fault}`;
  }
  return undefined;
}

/** What a function of the configuration gave, in words. */
export function kindOf(value: unknown): string {
  if (value instanceof Promise) return 'a promise, where functions of the configuration answer at once';
  return value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value;
}

function messageFault(message: unknown): string | undefined {
  if (!isPlainObject(message)) return 'is no object';
  const { role, content } = message;
  if (!roles.includes(role as string)) return `has none of the roles ${roles.join(', ')}`;
  if (typeof content === 'string') return role === 'tool' ? 'has no list of results' : undefined;
  if (!Array.isArray(content)) return 'has no content: give a text, or a list of parts';
  for (const part of content) {
    const fault = partFault(part);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function partFault(part: unknown): string | undefined {
  const { type } = (part ?? {}) as { readonly type?: unknown };
  const fields = typeof type === 'string' && Object.hasOwn(fieldsOfParts, type) ? fieldsOfParts[type] : undefined;
  if (fields === undefined) return `has a part that is none of ${Object.keys(fieldsOfParts).join(', ')}`;
  const missing = fields.find((field) => (part as Readonly<Record<string, unknown>>)[field] === undefined);
  return missing === undefined ? undefined : `has a part ${type as string} without ${missing}`;
}
