/** A conversation that grows: all of it is kept, and what fits is sent. */
import type { ModelMessage } from '../../graph/contracts/model-contract.ts';
import type { HistoryLimit } from './history-limit.ts';
import { tokensOf, tokensOfAll } from '../../ports/message-tokens.ts';

/** A message, and whether it answers the one before it, without which it means nothing. */
export interface Said {
  readonly message: ModelMessage;
  readonly isReply?: true;
}

export class Conversation {
  readonly #limit: HistoryLimit;
  /** The system messages, which are always sent. */
  head: readonly ModelMessage[];
  #said: Said[];
  /** The first message after the head that is sent. */
  #start = 0;
  /** What the provider counted last, for the head and the messages between. */
  #reported: { readonly tokens: number; readonly from: number; readonly to: number } | undefined;

  constructor(head: readonly ModelMessage[], said: readonly Said[], limit: HistoryLimit) {
    this.head = head;
    this.#said = [...said];
    this.#limit = limit;
  }

  add(message: ModelMessage, isReply = false): void {
    this.#said.push(isReply ? { message, isReply } : { message });
  }

  /** Takes what the provider counted of the messages that were sent last. Call it before anything is added. */
  report(tokens: number): void {
    if (Number.isFinite(tokens) && tokens > 0) this.#reported = { tokens, from: this.#start, to: this.#said.length };
  }

  /** Whether not all of it may be sent. */
  get isLong(): boolean {
    return this.#firstThatFits() > this.#start;
  }

  /** What is sent, and how many messages are left out. */
  take(): { readonly messages: readonly ModelMessage[]; readonly left: number } {
    this.#start = this.#firstThatFits();
    return { messages: [...this.head, ...this.#messagesFrom(this.#start)], left: this.#start };
  }

  /** Tokens of the messages that are sent. */
  tokens(): number {
    return this.#tokensFrom(this.#start);
  }

  /** The messages that a summary stands for, which leaves at least so many as they are. */
  older(messagesKept: number): readonly ModelMessage[] {
    return this.#said.slice(0, this.#beginningAt(this.#said.length - messagesKept, true)).map(({ message }) => message);
  }

  /** Puts one message in the place of the oldest. */
  replace(count: number, message: ModelMessage): void {
    this.#said = [{ message }, ...this.#said.slice(count)];
    this.#start = 0;
    this.#reported = undefined;
  }

  /** All that was said after the head, as far as it was not replaced. */
  get said(): readonly Said[] {
    return this.#said;
  }

  #firstThatFits(): number {
    const { messagesMax = Infinity, tokensMax = Infinity } = this.#limit;
    let start = Math.max(this.#start, this.#said.length - messagesMax);
    if (tokensMax !== Infinity) {
      const { countTokens } = this.#limit;
      let tokens = this.#tokensFrom(start);
      while (tokens > tokensMax && start < this.#said.length - 1) {
        tokens =
          countTokens === undefined
            ? tokens - tokensOf((this.#said[start] as Said).message)
            : this.#tokensFrom(start + 1);
        start += 1;
      }
    }
    return this.#beginningAt(start, false);
  }

  /** The next place at which a conversation may begin: not with a reply. @param isOpenEnded - there need be nothing after it */
  #beginningAt(start: number, isOpenEnded: boolean): number {
    let at = Math.max(0, start);
    while (at < this.#said.length && this.#said[at]?.isReply === true) at += 1;
    if (at < this.#said.length || isOpenEnded) return at;
    return this.#said.findLastIndex(({ isReply }) => isReply !== true);
  }

  #tokensFrom(start: number): number {
    const { countTokens } = this.#limit;
    if (countTokens !== undefined) return countTokens([...this.head, ...this.#messagesFrom(start)]);
    if (this.#reported === undefined) return tokensOfAll([...this.head, ...this.#messagesFrom(start)]);
    const { tokens, from, to } = this.#reported;
    return tokens - tokensOfAll(this.#messagesFrom(from, start)) + tokensOfAll(this.#messagesFrom(to));
  }

  #messagesFrom(start: number, end = this.#said.length): readonly ModelMessage[] {
    return this.#said.slice(start, end).map(({ message }) => message);
  }
}
