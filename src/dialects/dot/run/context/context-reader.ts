/** Lets a user's own handlers read the context: values by type, and large values whole. */
import type { NodeContext } from '../../../../graph/contracts/node-contract.ts';
import { asText } from './context-keys.ts';
import { wholeOf } from './large-values.ts';

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
