/** Keys of model calls and tool calls, by which steps and cassettes know them: equal ones have equal keys. Hashes are chained over messages, so a call costs what its conversation grew by. */
import { encodeValue } from '../state/values/codec.ts';
import { hashParts, hashText } from '../state/values/hash.ts';
import { LastList } from './last-list.ts';

/** Enough of a message's hash to see that it is another. */
const markLength = 8;

/** Remembers hashes for one conversation, which grows at its end and may be cut at its beginning. */
export class MessageKeys {
  readonly #hashes = new WeakMap<object, string>();
  readonly #last = new LastList<object>();
  /** Of the messages of the last request up to each place. */
  readonly #chain: string[] = [];

  /**
   * The key of a request.
   * @param settings - all of it but the messages: model, tools, tool choice, form of the answer, options of the provider
   */
  keyOf(settings: object, messages: readonly object[]): string {
    return hashParts([this.hashOf(settings), this.#chained(messages)]);
  }

  /** A short mark of a message, to compare conversations by. */
  markOf(message: object): string {
    return this.hashOf(message).slice(0, markLength);
  }

  /** Of a message, or of all but the messages. Each object is hashed once: what is asked is never changed, it is put together anew. */
  hashOf(value: object): string {
    let hash = this.#hashes.get(value);
    if (hash === undefined) this.#hashes.set(value, (hash = hashText(encodeValue(value))));
    return hash;
  }

  #chained(messages: readonly object[]): string {
    const chain = this.#chain;
    chain.length = this.#last.take(messages);
    for (let at = chain.length; at < messages.length; at += 1)
      chain.push(hashParts([chain[at - 1] ?? '', this.hashOf(messages[at] as object)]));
    return chain.at(-1) ?? '';
  }
}

/** The key of a tool call by its arguments; equal calls are counted by who makes them (A4). */
export function toolCallKey(tool: string, args: unknown): string {
  return `tool ${tool} ${hashText(encodeValue(args)).slice(0, 22)}`;
}
