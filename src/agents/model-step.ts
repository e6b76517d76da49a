/** The calls of a model that a conversation makes, each a step of the node: bought once, known by what was asked (X4, X6). */
import { CairnError } from '../errors.ts';
import type { ModelCall, ModelMessage, ModelResponse } from '../graph/contracts/model-contract.ts';
import type { NodeContext, RetryPolicy } from '../graph/contracts/node-contract.ts';
import { MessageKeys } from './message-keys.ts';

/** All of a request but its messages: it stays the same while a conversation grows. */
export type ModelSettings = Omit<ModelCall, 'messages'>;

/** How calls are made, beside what is asked. */
export interface ModelStepOptions {
  /** Tells the calls of several conversations in one node apart. Default `model`. */
  readonly name?: string;
  /** Default: three attempts where the model is not available. */
  readonly retry?: RetryPolicy;
  /** Of one attempt. */
  readonly timeoutMs?: number;
  /** A call that offers tools which the provider runs may be repeated without harm. Default false. */
  readonly isIdempotent?: boolean;
}

/** What is recorded of a call: the answer, and marks of the messages that its request was the first to hold. */
interface RecordedCall {
  readonly response: ModelResponse;
  readonly marks: readonly string[];
}

const defaultRetry: RetryPolicy = { attempts: 3, on: ['MODEL_UNAVAILABLE'], jitter: 0.2 };

/** The model calls of one conversation in one visit of a node. */
export class ModelSteps {
  readonly #ctx: NodeContext;
  readonly #options: ModelStepOptions;
  readonly #name: string;
  readonly #keys = new MessageKeys();
  /** What was on record of this conversation when the attempt began, by step name: how often. */
  readonly #recorded = new Map<string, number>();
  readonly #recordedMarks: readonly string[];
  readonly #recordedCount: number;
  /** Messages sent so far, each once, in order. */
  readonly #sent = new Set<ModelMessage>();
  #madeCount = 0;

  constructor(ctx: NodeContext, options: ModelStepOptions = {}) {
    this.#ctx = ctx;
    this.#options = options;
    this.#name = options.name ?? 'model';
    const own = ctx.past.steps().filter(({ name }) => name.startsWith(`${this.#name} `));
    for (const { name } of own) this.#recorded.set(name, (this.#recorded.get(name) ?? 0) + 1);
    const done = own.filter(({ status }) => status === 'done');
    this.#recordedCount = done.length;
    this.#recordedMarks = done.flatMap(({ output }) => (output as RecordedCall).marks);
  }

  /**
   * Makes the call, or returns what is recorded of it.
   * @throws AGENT_DIVERGED the request is none of those on record at this point, and the run is no fork; what the models throw
   */
  async call(settings: ModelSettings, messages: readonly ModelMessage[]): Promise<ModelResponse> {
    const ctx = this.#ctx;
    const { retry = defaultRetry, timeoutMs, isIdempotent = false } = this.#options;
    const key = this.#keys.keyOf(settings, messages);
    const name = `${this.#name} ${key}`;
    const isRecorded = this.#takeRecorded(name);
    if (!isRecorded) this.#refuseDivergence(messages);
    const fresh = messages.filter((message) => !this.#sent.has(message));
    for (const message of fresh) this.#sent.add(message);
    const marks = fresh.map((message) => this.#keys.markOf(message));
    const options = {
      effect: 'external',
      // The provider acts on the world in a call that offers tools of its own.
      idempotent: isIdempotent || settings.tools?.some((tool) => 'providerTool' in tool) !== true,
      input: key,
      retry,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    } as const;
    const recorded = await ctx.step(
      name,
      options,
      async ({ idempotencyKey, signal, attempt }): Promise<RecordedCall> => {
        // Pieces of an attempt that is over are void: a page that shows them drops them.
        if (isRecorded || attempt > 1) ctx.emit({ type: 'model-restarted', call: idempotencyKey });
        const response = await ctx.models.generate({ ...settings, messages }, { idempotencyKey, signal });
        return { response, marks };
      },
    );
    this.#madeCount += 1;
    return recorded.response;
  }

  /** Whether there is a record of this call that no earlier one has taken. */
  #takeRecorded(name: string): boolean {
    const left = this.#recorded.get(name) ?? 0;
    if (left > 0) this.#recorded.set(name, left - 1);
    return left > 0;
  }

  /** A new request while answers on record are unused: prompt, tools or code have changed under a run that had begun. */
  #refuseDivergence(messages: readonly ModelMessage[]): void {
    const { past, nodePath } = this.#ctx;
    if (past.isFork || this.#madeCount >= this.#recordedCount) return;
    const own = [...new Set([...this.#sent, ...messages])];
    const index = own.findIndex((message, place) => this.#keys.markOf(message) !== this.#recordedMarks[place]);
    const message = own[index];
    throw new CairnError('AGENT_DIVERGED', {
      node: nodePath.join('/'),
      call: this.#madeCount + 1,
      ...(message === undefined ? {} : { message: index + 1, role: message.role, text: shorten(message) }),
    });
  }
}

const shownCharacters = 80;

function shorten({ content }: ModelMessage): string {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters - 1)}…`;
}
