/** The model calls of one conversation as they are on record: what is asked is found there by its content, and what cannot be is told apart (A2, A3). */
import { CairnError } from '../errors.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { LastList } from '../ports/last-list.ts';
import { MessageKeys } from '../ports/message-keys.ts';

/** What is recorded of a call: the answer, and marks of the messages that its request was the first to hold. */
export interface RecordedCall<Response = unknown> {
  readonly response: Response;
  readonly marks: readonly string[];
  /** The model that stood in for the one that was asked. */
  readonly by?: string;
  /** What the caller noted beside it. */
  readonly note?: unknown;
}

/** A call that is about to be made, or taken from the record. */
export interface EnteredCall {
  /** Of its step: equal requests have equal names. */
  readonly name: string;
  /** The hash of the request. */
  readonly key: string;
  readonly marks: readonly string[];
  readonly isRecorded: boolean;
}

/** One conversation in one visit of a node; `Message` is whatever it is made of. */
export class CallRecord<Message extends object> {
  readonly #ctx: NodeContext;
  readonly #name: string;
  readonly #keys = new MessageKeys();
  /** What was on record of this conversation when the attempt began, by step name: how often. */
  readonly #recorded = new Map<string, number>();
  readonly #pastMarks: readonly string[];
  /** The answers that were on record when the attempt began. */
  readonly past: readonly RecordedCall[];
  /** Messages sent so far, each once, in order. */
  readonly #sent = new Set<Message>();
  /** What the last call sent. */
  readonly #last = new LastList<Message>();
  #madeCount = 0;

  /** @param name - tells conversations in one node apart */
  constructor(ctx: NodeContext, name: string) {
    this.#ctx = ctx;
    this.#name = name;
    const own = ctx.past.steps().filter((step) => step.name.startsWith(`${name} `));
    for (const step of own) this.#recorded.set(step.name, (this.#recorded.get(step.name) ?? 0) + 1);
    this.past = own.filter(({ status }) => status === 'done').map(({ output }) => output as RecordedCall);
    this.#pastMarks = this.past.flatMap(({ marks }) => marks);
  }

  /** Calls that were given their answer in this attempt. */
  get madeCount(): number {
    return this.#madeCount;
  }

  /**
   * Takes a call up.
   * @param settings - all of the request but its messages
   * @throws AGENT_DIVERGED the request is none of those on record at this point, and the run is no fork
   */
  enter(settings: object, messages: readonly Message[]): EnteredCall {
    const key = this.#keys.keyOf(settings, messages);
    const name = `${this.#name} ${key}`;
    const left = this.#recorded.get(name) ?? 0;
    if (left > 0) this.#recorded.set(name, left - 1);
    else this.#refuseDivergence(messages);
    const fresh = messages.slice(this.#last.take(messages)).filter((message) => !this.#sent.has(message));
    for (const message of fresh) this.#sent.add(message);
    return { name, key, marks: fresh.map((message) => this.#keys.markOf(message)), isRecorded: left > 0 };
  }

  /** A call that was taken up has its answer. */
  leave(): void {
    this.#madeCount += 1;
  }

  /** Whether a request is none of those on record while some of them are unused. */
  isDivergent(settings: object, messages: readonly Message[]): boolean {
    if (this.#isFree) return false;
    return (this.#recorded.get(`${this.#name} ${this.#keys.keyOf(settings, messages)}`) ?? 0) === 0;
  }

  /** Any call may be made: all that is on record was used, or the run is a fork. */
  get #isFree(): boolean {
    return this.#ctx.past.isFork || this.#madeCount >= this.past.length;
  }

  /** A new request while answers on record are unused: prompt, tools or code have changed under a run that had begun. */
  #refuseDivergence(messages: readonly Message[]): void {
    if (this.#isFree) return;
    const own = [...new Set([...this.#sent, ...messages])];
    const index = own.findIndex((message, place) => this.#keys.markOf(message) !== this.#pastMarks[place]);
    const message = own[index] as { readonly role?: string; readonly content?: unknown } | undefined;
    throw new CairnError('AGENT_DIVERGED', {
      node: this.#ctx.nodePath.join('/'),
      call: this.#madeCount + 1,
      ...(message === undefined ? {} : { message: index + 1, role: message.role, text: shorten(message.content) }),
    });
  }
}

const shownCharacters = 80;

function shorten(content: unknown): string {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters - 1)}…`;
}
