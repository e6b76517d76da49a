/** Lets a user's own handlers read the context: values by type, and large values whole. */
import type { FileRef } from '../../../../graph/file-ref.ts';
import type { FileAccess } from '../../../../graph/contracts/access.ts';
import type { StateView, NodeContext } from '../../../../graph/contracts/node-contract.ts';

// Keeps large values of the context as files with the run. The context then holds the value's head, its tail and the file.

/** Characters of a value, as a text, beyond which it is stored as a file. */
const inlineMax = 100_000;
/** Characters of the head, and of the tail, that stay in the context. */
const excerptMax = 2_000;

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
  const result: Record<string, unknown> = { ...values };
  for (const { key, text, isJson } of large) {
    const about = isJson ? ['json', 'application/json'] : ['txt', 'text/plain'];
    const name = `${key.replaceAll(/[^\w.-]/g, '_')}.${about[0] ?? ''}`;
    const file = await files.put(Buffer.from(text), { name, type: about[1] ?? '' });
    result[key] = {
      [mark]: file,
      isJson,
      head: text.slice(0, excerptMax),
      tail: text.slice(-excerptMax),
      characters: text.length,
    } satisfies LargeValue;
  }
  return result;
}

/** Its head and its tail, with a note of what is omitted between them. @param length - characters of both, at most */
export function excerptOf(
  { [mark]: file, head, tail, characters }: LargeValue,
  length: number = 2 * excerptMax,
): string {
  const half = Math.min(excerptMax, Math.floor(length / 2));
  const omitted = characters - 2 * half;
  return `${head.slice(0, half)} [… ${omitted} more characters, kept as ${file.name ?? file.hash} …] ${tail.slice(-half)}`;
}

/** The whole of a value, wherever it is stored. */
async function wholeOf(files: FileAccess, value: unknown): Promise<unknown> {
  if (!isLarge(value)) return value;
  const text = Buffer.from(await files.get(value[mark])).toString('utf8');
  return value.isJson ? (JSON.parse(text) as unknown) : text;
}

// The context of a pipeline: values by name, recorded in the run's scratch state. Also the keys that only the engine may write.

type Keyed = Readonly<Record<string, unknown>>;

/** Key in the input of a branch: the context at the point where the branch began. */
export const inheritedKey = '~context';

/** The edge that the run took from the stage that ended last to the one that runs. */
export const edgeKey = 'internal.edge';

/** The signal by which a child pipeline is steered. */
export const steerSignal = 'steer';

/** Says that a failed run was resumed, and that no stage for a model has come since. */
export const resumedKey = 'internal.resumed';

/** Names, and beginnings of names, that stages may not write. */
const reserved = /^(?:graph\.|internal\.|human\.|parallel\.|outcome$|preferred_label$|current_node$|last_stage$)/;

export function isReserved(key: string): boolean {
  return reserved.test(key);
}

/** One value of the context. Undefined if it is not set. */
export function contextValue({ scratch, input }: Pick<StateView, 'scratch' | 'input'>, key: string): unknown {
  if (Object.hasOwn(scratch, key)) return scratch[key];
  const inherited = (input as Keyed | undefined)?.[inheritedKey] as Keyed | undefined;
  return inherited !== undefined && Object.hasOwn(inherited, key) ? inherited[key] : undefined;
}

/** All values of the context. The branch's own win over those it inherited. */
export function contextOf({ scratch, input }: StateView): Keyed {
  return { ...((input as Keyed | undefined)?.[inheritedKey] as Keyed | undefined), ...scratch };
}

/** A value as conditions and prompts see it; `` where there is none, head and tail of a large one. */
export function asText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (isLarge(value)) return excerptOf(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Replaces `$goal` and `$param` where they stand as whole words. Other words with a dollar sign stay as they are. */
export function expand(text: string, state: Pick<StateView, 'scratch' | 'input'>, names: readonly string[]): string {
  return text.replaceAll(/\$([A-Za-z_][A-Za-z0-9_]*)/g, (word, name: string) =>
    names.includes(name) ? asText(contextValue(state, `graph.${name}`)) : word,
  );
}

export interface ContextReader {
  /** The value as conditions see it: an empty text if there is none, JSON if it is no text, head and tail if it is large. */
  text(key: string): string;
  /** A number, also one that is written as a text. Undefined if the value is neither. */
  number(key: string): number | undefined;
  /** Whether it is true, or the text `true`. */
  flag(key: string): boolean;
  /** A list. Undefined if the value is none. */
  list(key: string): readonly unknown[] | undefined;
  /** The value itself, read from its file where it is large. @throws BLOB_NOT_FOUND and what the blob store throws */
  whole(key: string): Promise<unknown>;
}

export function contextReader({ files }: Pick<NodeContext, 'files'>, value: (key: string) => unknown): ContextReader {
  return {
    text: (key) => asText(value(key)),
    number: (key) => {
      const text = asText(value(key)).trim();
      const number = Number(text);
      return text === '' || !Number.isFinite(number) ? undefined : number;
    },
    flag: (key) => asText(value(key)) === 'true',
    list: (key) => {
      const found = value(key);
      return Array.isArray(found) ? (found as readonly unknown[]) : undefined;
    },
    whole: (key) => wholeOf(files, value(key)),
  };
}
