/** A conversation that grows: all of it is kept, and what fits is sent. */
import type { ModelMessage } from '../../graph/contracts/model-contract.ts';
import type { HistoryLimit } from './history-limit.ts';
import { tokensOf, tokensOfAll } from '../../ports/message-tokens.ts';

export class Conversation {
  readonly #limit: HistoryLimit;
  /** The system messages, which are always sent. */
  head: readonly ModelMessage[];
  /** All that was said after the head, as far as it was not replaced. */
  #messages: ModelMessage[];
  /** Places of messages that answer the one before, without which they mean nothing. */
  #replies: Set<number>;
  /** The first message after the head that is sent. */
  #start = 0;
  /** What the provider counted last, for the head and the messages between. */
  #reported: { readonly tokens: number; readonly from: number; readonly to: number } | undefined;

  /** @param replies - places of those of the messages that answer the one before */
  constructor(
    head: readonly ModelMessage[],
    messages: readonly ModelMessage[],
    limit: HistoryLimit,
    replies: readonly number[] = [],
  ) {
    this.head = head;
    this.#messages = [...messages];
    this.#replies = new Set(replies);
    this.#limit = limit;
  }

  add(message: ModelMessage, isReply = false): void {
    if (isReply) this.#replies.add(this.#messages.length);
    this.#messages.push(message);
  }

  /** Takes what the provider counted of the messages that were sent last. Call it before anything is added. */
  report(tokens: number): void {
    if (Number.isFinite(tokens) && tokens > 0)
      this.#reported = { tokens, from: this.#start, to: this.#messages.length };
  }

  /** Whether not all of it may be sent. */
  get isLong(): boolean {
    return this.#firstThatFits() > this.#start;
  }

  /** What is sent, and how many messages are left out. */
  take(): { readonly messages: readonly ModelMessage[]; readonly left: number } {
    this.#start = this.#firstThatFits();
    return { messages: this.#request(this.#start), left: this.#start };
  }

  /** Tokens of the messages that are sent. */
  tokens(): number {
    return this.#tokensFrom(this.#start);
  }

  /** The messages that a summary stands for, which leaves at least so many as they are. */
  older(messagesKept: number): readonly ModelMessage[] {
    return this.#messages.slice(0, this.#beginningAt(this.#messages.length - messagesKept, true));
  }

  /** Puts one message in the place of the oldest. */
  replace(count: number, message: ModelMessage): void {
    this.#messages.splice(0, count, message);
    this.#replies = new Set([...this.#replies].filter((place) => place >= count).map((place) => place - count + 1));
    this.#start = 0;
    this.#reported = undefined;
  }

  /** What stands after the head, and the places of replies in it: of these a conversation can be made again. */
  kept(): { readonly messages: readonly ModelMessage[]; readonly replies: readonly number[] } {
    return { messages: [...this.#messages], replies: [...this.#replies] };
  }

  #firstThatFits(): number {
    const { messagesMax = Infinity, tokensMax = Infinity } = this.#limit;
    let start = Math.max(this.#start, this.#messages.length - messagesMax);
    if (tokensMax !== Infinity) {
      const { countTokens } = this.#limit;
      let tokens = this.#tokensFrom(start);
      while (tokens > tokensMax && start < this.#messages.length - 1) {
        tokens =
          countTokens === undefined
            ? tokens - tokensOf(this.#messages[start] as ModelMessage)
            : this.#tokensFrom(start + 1);
        start += 1;
      }
    }
    return this.#beginningAt(start, false);
  }

  /** The next place at which a conversation may begin: not with a reply. @param isOpenEnded - there need be nothing after it */
  #beginningAt(start: number, isOpenEnded: boolean): number {
    let at = Math.max(0, start);
    while (at < this.#messages.length && this.#replies.has(at)) at += 1;
    if (at < this.#messages.length || isOpenEnded) return at;
    do at -= 1;
    while (this.#replies.has(at));
    return at;
  }

  #tokensFrom(start: number): number {
    const { countTokens } = this.#limit;
    if (countTokens !== undefined) return countTokens(this.#request(start));
    if (this.#reported === undefined) return tokensOfAll(this.#request(start));
    const { tokens, from, to } = this.#reported;
    return tokens - tokensOfAll(this.#messages.slice(from, start)) + tokensOfAll(this.#messages.slice(to));
  }

  #request(start: number): readonly ModelMessage[] {
    return this.head.concat(this.#messages.slice(start));
  }
}
