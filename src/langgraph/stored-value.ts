/** Values of LangGraph as they stand in our states: what its serializer writes as JSON is kept as data, so that it can be read and compared. */

/** A value as a serializer of LangGraph gives it: the name of a form, and bytes in that form. */
export type SerializedValue = readonly [form: string, data: Uint8Array];

/** What converts between values and {@link SerializedValue}. */
export interface Serializer {
  dumpsTyped(value: unknown): Promise<SerializedValue>;
  loadsTyped(form: string, data: Uint8Array | string): Promise<unknown>;
}

const decoder = new TextDecoder();

/** The value to keep: JSON as data, `bytes` as bytes, and any other form (such as an encrypted one) as a Map of its name to its bytes. */
export async function toStored(serde: Serializer, value: unknown): Promise<unknown> {
  const [form, data] = await serde.dumpsTyped(value);
  if (form === 'json') return JSON.parse(decoder.decode(data)) as unknown;
  return form === 'bytes' ? data : new Map([[form, data]]);
}

/** The form that a serializer reads, of what {@link toStored} gave. It is a copy. */
export function serializedOf(stored: unknown): readonly [form: string, data: Uint8Array | string] {
  if (stored instanceof Uint8Array) return ['bytes', stored];
  if (!(stored instanceof Map)) return ['json', JSON.stringify(stored)];
  const [[form, data] = ['', new Uint8Array()]] = stored as ReadonlyMap<string, Uint8Array>;
  return [form, data];
}
