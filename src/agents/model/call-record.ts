/**
 * The recorded model calls of one conversation: which of them a request is, whatever code makes it now (A2, A3).
 */
import { CairnError } from '../../errors.ts';
import type { NodeContext } from '../../graph/contracts/node-contract.ts';
import { LastList, MessageKeys } from '../../model-calls/model-access.ts';

/** What becomes of a conversation whose code has changed since it began: it goes on from its record, or is refused. */
export type OnChange = 'continue' | 'refuse';

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
  /** Where several conversations may go on side by side under one name: where it stands in its own. Absent in older records. */
  readonly place?: CallPlace;
}

/** Where a call stands among several conversations under one name. */
export interface CallPlace {
  /** Identifies the answer that it follows; empty if it opens its conversation. */
  readonly after: string;
  /** Identifies the last message of its request. */
  readonly said: string;
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
  /** What is on record of it, if it has its answer. */
  readonly answered: RecordedCall | undefined;
}

/** A recorded call that this attempt has not made yet. */
interface RemainingCall {
  readonly name: string;
  /** Its end is on record: its place is taken. */
  readonly hasEnded: boolean;
  readonly isLeft: boolean;
  /** Undefined if it has no answer. */
  readonly answered: RecordedCall | undefined;
}

/** The calls of one conversation in one visit of a node. `Message` is the type of its messages. */
export class CallRecord<Message extends object> {
  readonly #ctx: NodeContext;
  readonly #name: string;
  readonly #onChange: OnChange;
  readonly #keys = new MessageKeys();
  /** The recorded calls of this conversation that this attempt has not made yet, by step name. */
  readonly #recorded = new Map<string, RemainingCall[]>();
  /** Those of them whose end is on record, in order: each stands at its place. */
  readonly #inOrder: RemainingCall[] = [];
  /** Settings without the bound of the answer's tokens, by the settings with it. */
  readonly #unbound = new WeakMap<object, object>();
  readonly #pastMarks: readonly string[];
  /** Whether the run was forked within this visit, and made no other call in it when the attempt began. */
  readonly #isFork: boolean;
  /** The answers that were recorded when the attempt began. */
  readonly past: readonly RecordedCall[];
  /** All messages sent so far, each once, in order. */
  readonly #sent = new Set<Message>();
  /** Openings whose record a conversation with another first message has taken. One that begins so after all shows that this was wrong. */
  readonly #takenOver = new Set<string>();
  /** What the last call sent. */
  readonly #last = new LastList<Message>();
  #madeCount = 0;

  /** @param name - name of the conversation, unique within the node */
  constructor(ctx: NodeContext, name: string, onChange: OnChange) {
    this.#ctx = ctx;
    this.#name = name;
    this.#onChange = onChange;
    const own = ctx.past.steps().filter((step) => step.name.startsWith(`${name} `));
    for (const { name: step, status, output, isLeft = false } of own) {
      const answered = status === 'done' ? (output as RecordedCall) : undefined;
      const call = { name: step, hasEnded: status !== 'started', isLeft, answered };
      this.#remainingOf(step).push(call);
      if (call.hasEnded && !isLeft) this.#inOrder.push(call);
    }
    this.#isFork = ctx.past.isFork;
    this.past = this.#inOrder.flatMap(({ answered }) => (answered === undefined ? [] : [answered]));
    this.#pastMarks = this.past.flatMap(({ marks }) => marks);
  }

  /** Number of calls that got their answer in this attempt. */
  get madeCount(): number {
    return this.#madeCount;
  }

  /**
   * Begins a call.
   * @param settings - the request without its messages
   * @param place - where it stands, if several conversations may go on under this name. Default: each call follows the one before
   * @throws AGENT_DIVERGED recorded answers are unused, but none is for this request, and the conversation refuses changes, or it is not
   * clear which of them stands in its place
   */
  enter(settings: object, messages: readonly Message[], place?: CallPlace): EnteredCall {
    const request = this.#find(settings, messages);
    const standing = this.#standing(request, place);
    const { name, key, isOlder } = typeof standing === 'object' ? this.#callOf(standing, request) : request;
    const used = this.#use(name);
    const opened = used?.answered?.place;
    if (opened?.after === '' && opened.said !== place?.said) this.#takenOver.add(opened.said);
    const isTaken = place?.after === '' && used === undefined && this.#takenOver.has(place.said);
    if (standing === 'unclear' || (used === undefined && this.#onChange === 'refuse'))
      this.#refuseDivergence(messages, isTaken);
    const fresh = messages.slice(this.#last.take(messages)).filter((message) => !this.#sent.has(message));
    for (const message of fresh) this.#sent.add(message);
    const marks = fresh.map((message) => this.#keys.markOf(message));
    return { name, key, marks, isRecorded: used !== undefined, isOlder, answered: used?.answered };
  }

  /** The call on record that stands where this request does; undefined if none does, so that the request is new. */
  #standing({ name }: Named, place: CallPlace | undefined): RemainingCall | 'unclear' | undefined {
    if (this.#onChange === 'refuse') return undefined;
    if (place === undefined) return this.#inOrder[0];
    const equal = this.#remainingOf(name)[0];
    return equal?.hasEnded === true ? equal : this.#inPlace(place);
  }

  /** Of several conversations: the call that follows the same answer, or that opens its conversation with the same message. */
  #inPlace({ after, said }: CallPlace): RemainingCall | 'unclear' | undefined {
    const placed = this.#inOrder.filter(({ answered }) => answered !== undefined);
    const here = placed.filter(({ answered }) => answered?.place?.after === after);
    const [alike, isOpening] = [here.filter(({ answered }) => answered?.place?.said === said), after === ''];
    const openings = this.past.filter(({ place }) => place?.after === '').length;
    const found = alike.length > 0 || (isOpening && openings > 1) ? alike : here;
    const [first] = found;
    if (first !== undefined) return found.every(({ name }) => name === first.name) ? first : 'unclear';
    // What an older version recorded says nothing of its place.
    const isTaken = isOpening && this.#takenOver.has(said);
    return isTaken || here.length > 0 || placed.some(({ answered }) => answered?.place === undefined)
      ? 'unclear'
      : undefined;
  }

  /** The call on record that stands where this request does: under its own name, whatever the request is now. */
  #callOf({ name }: RemainingCall, request: Named): Named {
    return name === request.name ? request : { name, key: name.slice(this.#name.length + 1), isOlder: false };
  }

  /** Uses the next recorded call of a name, if there is one. */
  #use(name: string): RemainingCall | undefined {
    const used = this.#remainingOf(name).shift();
    const place = used === undefined ? -1 : this.#inOrder.indexOf(used);
    if (place >= 0) this.#inOrder.splice(place, 1);
    return used;
  }

  /** Finds a request on record. A higher bound of the answer's tokens makes no other request of it, since it changes no whole answer. */
  #find(settings: object, messages: readonly Message[]): Named {
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
  #remainingOf(name: string): RemainingCall[] {
    let remaining = this.#recorded.get(name);
    if (remaining === undefined) this.#recorded.set(name, (remaining = []));
    return remaining;
  }

  /**
   * Whether the next call with this name is on record, and whether it was made in place of the one before. `begun`: its end is not known.
   */
  nextOf(name: string): 'anew' | 'begun' | 'another' | undefined {
    const [next] = this.#remainingOf(name);
    if (next === undefined) return undefined;
    if (next.answered === undefined) return 'begun';
    return next.answered.isAnew === true ? 'anew' : 'another';
  }

  /** Ends a call that was begun: it has its answer. */
  leave(): void {
    this.#madeCount += 1;
  }

  /** Whether the next call with this request is on record. */
  isKnown(settings: object, messages: readonly Message[]): boolean {
    return this.#ctx.past.isRecorded(this.#find(settings, messages).name);
  }

  /** Whether this request would be refused now. Where others go on side by side, it need not be when they have gone on. */
  isDivergent(settings: object, messages: readonly Message[], place: CallPlace): boolean {
    if (this.#isFree) return false;
    const request = this.#find(settings, messages);
    if (this.#onChange === 'refuse') return this.#remainingOf(request.name).length === 0;
    return this.#standing(request, place) === 'unclear';
  }

  /** Whether any request may be made: every recorded answer was used, or the run is a fork. */
  get #isFree(): boolean {
    return this.#isFork || this.#madeCount >= this.past.length;
  }

  /**
   * Refuses a new request while recorded answers are unused. It means that the prompt, the tools or the code changed after the run began.
   */
  #refuseDivergence(messages: readonly Message[], isTaken: boolean): void {
    if (this.#isFree && !isTaken) return;
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

/** A request, and the name and hash under which it is recorded. */
type Named = Pick<EnteredCall, 'name' | 'key' | 'isOlder'>;

const excerptLength = 80;

function shorten(content: unknown): string {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return text.length <= excerptLength ? text : `${text.slice(0, excerptLength - 1)}…`;
}
