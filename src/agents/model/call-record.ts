/**
 * The recorded model calls of one conversation. A request is found by its content, and one that differs from what was recorded is detected
 * (A2, A3).
 */
import { CairnError } from '../../errors.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { LastList } from '../../model-calls/last-list.ts';
import { MessageKeys } from '../../model-calls/message-keys.ts';

/** What is recorded of a call: the answer, and a short mark of each message that was sent for the first time. */
export interface RecordedCall<Response = unknown> {
  readonly response: Response;
  readonly marks: readonly string[];
  /** Name of the fallback model that answered, if one did. */
  readonly by?: string;
  /** Data that the caller added. */
  readonly note?: unknown;
}

/** A call that is about to be made, or whose answer is recorded. */
export interface EnteredCall {
  /** Name of the step. Equal requests have equal names. */
  readonly name: string;
  readonly marks: readonly string[];
  readonly isRecorded: boolean;
}

/** The calls of one conversation in one visit of a node. `Message` is the type of its messages. */
export class CallRecord<Message extends object> {
  readonly #ctx: NodeContext;
  readonly #name: string;
  readonly #keys = new MessageKeys();
  /** The recorded calls of this conversation when the attempt began: their number by step name. */
  readonly #recorded = new Map<string, number>();
  readonly #pastMarks: readonly string[];
  /** The answers that were recorded when the attempt began. */
  readonly past: readonly RecordedCall[];
  /** All messages sent so far, each once, in order. */
  readonly #sent = new Set<Message>();
  /** What the last call sent. */
  readonly #last = new LastList<Message>();
  #madeCount = 0;

  /** @param name - name of the conversation, unique within the node */
  constructor(ctx: NodeContext, name: string) {
    this.#ctx = ctx;
    this.#name = name;
    const own = ctx.past.steps().filter((step) => step.name.startsWith(`${name} `));
    for (const step of own) this.#recorded.set(step.name, (this.#recorded.get(step.name) ?? 0) + 1);
    this.past = own.filter(({ status }) => status === 'done').map(({ output }) => output as RecordedCall);
    this.#pastMarks = this.past.flatMap(({ marks }) => marks);
  }

  /** Number of calls that got their answer in this attempt. */
  get madeCount(): number {
    return this.#madeCount;
  }

  /** Hash of a request. @param settings - the request without its messages */
  keyOf(settings: object, messages: readonly Message[]): string {
    return this.#keys.keyOf(settings, messages);
  }

  /**
   * Begins a call.
   * @param key - hash of the request
   * @throws AGENT_DIVERGED recorded answers are left, but none is for this request, and the run is not a fork
   */
  enter(key: string, messages: readonly Message[]): EnteredCall {
    const name = `${this.#name} ${key}`;
    const left = this.#recorded.get(name) ?? 0;
    if (left > 0) this.#recorded.set(name, left - 1);
    else this.#refuseDivergence(messages);
    const fresh = messages.slice(this.#last.take(messages)).filter((message) => !this.#sent.has(message));
    for (const message of fresh) this.#sent.add(message);
    return { name, marks: fresh.map((message) => this.#keys.markOf(message)), isRecorded: left > 0 };
  }

  /** Ends a call that was begun: it has its answer. */
  leave(): void {
    this.#madeCount += 1;
  }

  /** Whether recorded answers are left, but none is for this request. */
  isDivergent(key: string): boolean {
    return !this.#isFree && (this.#recorded.get(`${this.#name} ${key}`) ?? 0) === 0;
  }

  /** Whether any request may be made: every recorded answer was used, or the run is a fork. */
  get #isFree(): boolean {
    return this.#ctx.past.isFork || this.#madeCount >= this.past.length;
  }

  /** Refuses a new request while recorded answers are left. It means that the prompt, the tools or the code changed after the run began. */
  #refuseDivergence(messages: readonly Message[]): void {
    if (this.#isFree) return;
    const own = [...new Set([...this.#sent, ...messages])];
    const index = own.findIndex((message, place) => this.#keys.markOf(message) !== this.#pastMarks[place]);
    const message = own[index] as { readonly role?: string; readonly content?: unknown } | undefined;
    throw new CairnError('AGENT_DIVERGED', {
      node: this.#ctx.nodePath.join('/'),
      call: this.#madeCount + 1,
      ...(message === undefined
        ? {
            differs:
              'its messages are the same, but not its model, tools, settings, or how many of the messages it sends',
          }
        : { message: index + 1, role: message.role, text: shorten(message.content) }),
    });
  }
}

const shownCharacters = 80;

function shorten(content: unknown): string {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters - 1)}…`;
}
