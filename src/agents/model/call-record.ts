/**
 * The recorded model calls of one conversation. A request is found by its content, and one that differs from what was recorded is detected
 * (A2, A3).
 */
import { CairnError } from '../../errors.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { LastList, MessageKeys } from '../../model-calls/model-access.ts';

/** What is recorded of a call: the answer, and a short mark of each message that was sent for the first time. */
export interface RecordedCall<Response = unknown> {
  readonly response: Response;
  readonly marks: readonly string[];
  /** The most tokens that the answer could have, if there was a bound. */
  readonly tokensMax?: number;
  /** Whether it was made anew, in place of an answer of an equal request that was cut off under a lower bound. */
  readonly isAnew?: true;
  /** Name of the fallback model that answered, if one did. */
  readonly by?: string;
  /** Data that the caller added. */
  readonly note?: unknown;
}

/** A call that is about to be made, or whose answer is recorded. */
export interface EnteredCall {
  /** Name of the step. Equal requests have equal names. */
  readonly name: string;
  /** Hash of the request. */
  readonly key: string;
  readonly marks: readonly string[];
  readonly isRecorded: boolean;
  /** Whether an older version recorded it, for which the bound of the answer's tokens was a part of the key. */
  readonly isOlder: boolean;
}

/** The calls of one conversation in one visit of a node. `Message` is the type of its messages. */
export class CallRecord<Message extends object> {
  readonly #ctx: NodeContext;
  readonly #name: string;
  readonly #keys = new MessageKeys();
  /** The recorded calls of this conversation that this attempt has not made yet, by step name. Undefined: its end is not recorded. */
  readonly #recorded = new Map<string, (RecordedCall | undefined)[]>();
  /** Settings without the bound of the answer's tokens, by the settings with it. */
  readonly #unbound = new WeakMap<object, object>();
  readonly #pastMarks: readonly string[];
  /** Whether the run was forked within this visit, and made no other call in it when the attempt began. */
  readonly #isFork: boolean;
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
    for (const { name: step, status, output } of own)
      this.#remainingOf(step).push(status === 'done' ? (output as RecordedCall) : undefined);
    this.#isFork = ctx.past.isFork;
    this.past = own
      .filter(({ status, isLeft }) => status === 'done' && isLeft !== true)
      .map(({ output }) => output as RecordedCall);
    this.#pastMarks = this.past.flatMap(({ marks }) => marks);
  }

  /** Number of calls that got their answer in this attempt. */
  get madeCount(): number {
    return this.#madeCount;
  }

  /**
   * Begins a call.
   * @param settings - the request without its messages
   * @throws AGENT_DIVERGED recorded answers are unused, but none is for this request, and the run is not a fork
   */
  enter(settings: object, messages: readonly Message[]): EnteredCall {
    const { name, key, isOlder } = this.#find(settings, messages);
    const remaining = this.#remainingOf(name);
    const isRecorded = remaining.length > 0;
    if (isRecorded) remaining.shift();
    else this.#refuseDivergence(messages);
    const fresh = messages.slice(this.#last.take(messages)).filter((message) => !this.#sent.has(message));
    for (const message of fresh) this.#sent.add(message);
    return { name, key, marks: fresh.map((message) => this.#keys.markOf(message)), isRecorded, isOlder };
  }

  /** Finds a request on record. A higher bound of the answer's tokens makes no other request of it, since it changes no whole answer. */
  #find(settings: object, messages: readonly Message[]): Pick<EnteredCall, 'name' | 'key' | 'isOlder'> {
    const unbound = this.#withoutBound(settings);
    if (unbound !== settings) {
      const key = this.#keys.keyOf(settings, messages);
      const name = `${this.#name} ${key}`;
      if (this.#ctx.past.isRecorded(name)) return { name, key, isOlder: true };
    }
    const key = this.#keys.keyOf(unbound, messages);
    return { name: `${this.#name} ${key}`, key, isOlder: false };
  }

  #withoutBound(settings: object): object {
    if (!('tokensMax' in settings) && !('maxOutputTokens' in settings)) return settings;
    let unbound = this.#unbound.get(settings);
    if (unbound === undefined) {
      const { tokensMax: _, maxOutputTokens: _sdk, ...rest } = settings as Readonly<Record<string, unknown>>;
      this.#unbound.set(settings, (unbound = rest));
    }
    return unbound;
  }

  /** The next recorded calls of a name, which this attempt has not made yet. */
  #remainingOf(name: string): (RecordedCall | undefined)[] {
    let remaining = this.#recorded.get(name);
    if (remaining === undefined) this.#recorded.set(name, (remaining = []));
    return remaining;
  }

  /**
   * Whether the next call with this name is on record, and whether it was made in place of the one before. `begun`: its end is not known.
   */
  nextOf(name: string): 'anew' | 'begun' | 'another' | undefined {
    const remaining = this.#remainingOf(name);
    if (remaining.length === 0) return undefined;
    const [next] = remaining;
    if (next === undefined) return 'begun';
    return next.isAnew === true ? 'anew' : 'another';
  }

  /** Ends a call that was begun: it has its answer. */
  leave(): void {
    this.#madeCount += 1;
  }

  /** Whether the next call with this request is on record. */
  isKnown(settings: object, messages: readonly Message[]): boolean {
    return this.#ctx.past.isRecorded(this.#find(settings, messages).name);
  }

  /** Whether recorded answers are unused, but none is for this request. */
  isDivergent(settings: object, messages: readonly Message[]): boolean {
    return !this.#isFree && this.#remainingOf(this.#find(settings, messages).name).length === 0;
  }

  /** Whether any request may be made: every recorded answer was used, or the run is a fork. */
  get #isFree(): boolean {
    return this.#isFork || this.#madeCount >= this.past.length;
  }

  /**
   * Refuses a new request while recorded answers are unused. It means that the prompt, the tools or the code changed after the run began.
   */
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

const excerptLength = 80;

function shorten(content: unknown): string {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return text.length <= excerptLength ? text : `${text.slice(0, excerptLength - 1)}…`;
}
