/** Keeps large values of the context as files with the run. The context then holds the value's head, its tail and the file. */
import type { FileRef } from '../../../../graph/file-ref.ts';
import type { FileAccess } from '../../../../graph/contracts/context-access.ts';

/** Characters of a value, as a text, beyond which it is kept as a file. */
export const inlineMax = 100_000;
/** Characters of the head, and of the tail, that stay in the context. */
const shownMax = 2_000;

const mark = '~large';

/** Stands in the context for a large value. */
export interface LargeValue {
  readonly [mark]: FileRef;
  /** Whether the file holds the value as JSON. If not, the value is a text, and the file holds that text. */
  readonly isJson: boolean;
  readonly head: string;
  readonly tail: string;
  readonly characters: number;
}

export function isLarge(value: unknown): value is LargeValue {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, mark);
}

/** Puts values whose text is long into files. Returns at once, without a promise, if there are none. */
export function keepLarge(
  files: FileAccess,
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | Promise<Readonly<Record<string, unknown>>> {
  const large = Object.entries(values).flatMap(([key, value]) => {
    const isJson = typeof value !== 'string';
    if (isJson && (typeof value !== 'object' || value === null || isLarge(value))) return [];
    const text = isJson ? JSON.stringify(value) : value;
    return text.length > inlineMax ? [{ key, text, isJson }] : [];
  });
  if (large.length === 0) return values;
  return putLarge(files, values, large);
}

async function putLarge(
  files: FileAccess,
  values: Readonly<Record<string, unknown>>,
  large: readonly { readonly key: string; readonly text: string; readonly isJson: boolean }[],
): Promise<Readonly<Record<string, unknown>>> {
  const kept: Record<string, unknown> = { ...values };
  for (const { key, text, isJson } of large) {
    const about = isJson ? ['json', 'application/json'] : ['txt', 'text/plain'];
    const name = `${key.replaceAll(/[^\w.-]/g, '_')}.${about[0] ?? ''}`;
    const file = await files.put(Buffer.from(text), { name, type: about[1] ?? '' });
    kept[key] = {
      [mark]: file,
      isJson,
      head: text.slice(0, shownMax),
      tail: text.slice(-shownMax),
      characters: text.length,
    } satisfies LargeValue;
  }
  return kept;
}

/** Its head and its tail, with what is left out between them. @param length - characters of both, at most */
export function shownLarge(
  { [mark]: file, head, tail, characters }: LargeValue,
  length: number = 2 * shownMax,
): string {
  const half = Math.min(shownMax, Math.floor(length / 2));
  const left = characters - 2 * half;
  return `${head.slice(0, half)} [… ${left} more characters, kept as ${file.name ?? file.hash} …] ${tail.slice(-half)}`;
}

/** The whole of a value, wherever it is kept. */
export async function wholeOf(files: FileAccess, value: unknown): Promise<unknown> {
  if (!isLarge(value)) return value;
  const text = Buffer.from(await files.get(value[mark])).toString('utf8');
  return value.isJson ? (JSON.parse(text) as unknown) : text;
}
