/** A conversation that grows. All of it is kept; of a long one, only the part that fits is sent. */
import type { ModelMessage } from '../../graph/contracts/model-contract.ts';
import type { HistoryLimit } from './history-limit.ts';
import { tokensOf, tokensOfAll } from '../../model-calls/message-tokens.ts';

/** A place in a conversation to which it can be taken back. */
export interface ConversationMark {
  readonly length: number;
  readonly start: number;
}

export class Conversation {
  readonly #limit: HistoryLimit;
  /** The system messages at the beginning, which are always sent. */
  head: readonly ModelMessage[];
  /** All messages after the head that were not replaced. */
  #messages: ModelMessage[];
  /** Indices of messages that are replies to the message before them, and must not be sent without it. */
  #replies: Set<number>;
  /** Index of the first message after the head that is sent. */
  #start = 0;
  /** The provider's last token count, and the range of messages it covers, beside the head. */
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

  mark(): ConversationMark {
    return { length: this.#messages.length, start: this.#start };
  }

  /** Drops all messages since a mark. The mark must be of the same messages: none was replaced since. */
  backTo({ length, start }: ConversationMark): void {
    this.#messages.length = length;
    this.#replies = new Set([...this.#replies].filter((place) => place < length));
    this.#start = start;
    this.#reported = undefined;
  }

  /** Takes the provider's token count of the messages sent last. Call it before messages are added. */
  report(tokens: number): void {
    if (Number.isFinite(tokens) && tokens > 0)
      this.#reported = { tokens, from: this.#start, to: this.#messages.length };
  }

  /** Whether some messages must be left out. */
  get isLong(): boolean {
    return this.#firstThatFits() > this.#start;
  }

  /** The messages to send, and the number of those left out. */
  take(): { readonly messages: readonly ModelMessage[]; readonly left: number } {
    this.#start = this.#firstThatFits();
    return { messages: this.#request(this.#start), left: this.#start };
  }

  /** Tokens of the messages that are sent. */
  tokens(): number {
    return this.#tokensFrom(this.#start);
  }

  /** The oldest messages, for a summary. At least `messagesKept` newer ones are left. */
  older(messagesKept: number): readonly ModelMessage[] {
    return this.#messages.slice(0, this.#beginningAt(this.#messages.length - messagesKept, true));
  }

  /** Replaces the oldest `count` messages by one. */
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

  /**
   * The next index at which a conversation may begin: one that is not a reply. @param isOpenEnded - whether the end of the list is allowed
   */
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
    return this.head.concat(start === 0 ? this.#messages : this.#messages.slice(start));
  }
}
