/** Bytes as something that people can read, where they are that. */
import type { Entry } from './journal.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/** Above this, a value stays a text: reading it twice to see that nothing is lost takes too long. */
const jsonBytesMost = 64 * 1024;

/** A value as JSON: bytes are `{ $json }` where they are JSON, else `{ $text }` or `{ $base64 }`. */
export function toReadable(value: unknown): unknown {
  if (value === undefined) return { $none: true };
  if (value instanceof Uint8Array) return readableBytes(value);
  if (value instanceof Map) return { $map: [...value].map(toReadable) };
  if (Array.isArray(value)) return Array.from(value, toReadable);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  const readable = fields.map(([name, field]): [string, unknown] => [name, toReadable(field)]);
  return fields.some(([name]) => name.startsWith('$')) ? { $fields: readable } : Object.fromEntries(readable);
}

function readableBytes(bytes: Uint8Array): Entry {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { $base64: Buffer.from(bytes).toString('base64') };
  }
  if (bytes.length > jsonBytesMost || !/^[[{]/u.test(text)) return { $text: text };
  try {
    const json: unknown = JSON.parse(text);
    return JSON.stringify(json) === text ? { $json: json } : { $text: text };
  } catch {
    return { $text: text };
  }
}

/** The value from its form by `toReadable`. */
export function fromReadable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromReadable);
  if (typeof value !== 'object' || value === null) return value;
  const { $none, $json, $text, $base64, $map, $fields } = value as Entry;
  if ($none !== undefined) return undefined;
  if ($json !== undefined) return new Uint8Array(Buffer.from(JSON.stringify($json)));
  if ($text !== undefined) return new Uint8Array(Buffer.from($text as string));
  if ($base64 !== undefined) return new Uint8Array(Buffer.from($base64 as string, 'base64'));
  if ($map !== undefined) return new Map(fromReadable($map) as [unknown, unknown][]);
  const fields = $fields === undefined ? Object.entries(value) : ($fields as [string, unknown][]);
  return Object.fromEntries(fields.map(([name, field]) => [name, fromReadable(field)]));
}
