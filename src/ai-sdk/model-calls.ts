/** The model calls of one conversation. Each is a step, identified by its request (A2, A3). */
import { AsyncLocalStorage } from 'node:async_hooks';
import { CairnError } from '../errors.ts';
import type { NodeContext, StepContext, StepOptions } from '../graph/contracts/node-contract.ts';
import {
  type SdkCallOptions,
  type SdkModel,
  isCopyOf,
  plainCopy,
  type RequestedCalls,
  type RequestedToolCall,
  type RefusedCall,
  type RefusedCalls,
  type AnswerDefaults,
  type RecordedAnswer,
  type SdkUsage,
} from './recorded-calls.ts';
import { mayComeWhole } from '../agents/model/model-step.ts';
import { CallRecord, type CallPlace, type OnChange, type RecordedCall } from '../agents/model/call-record.ts';
import { changesOf, shortHash } from '../agents/history/agent-change.ts';
import type { AgentParts } from '../agents/turn-note.ts';
import { agentChanged, type AgentChange } from '../graph/contracts/agent-change.ts';
import type { SecretReader } from '../graph/contracts/access.ts';
import type { RetryPolicy } from '../graph/contracts/retry-policy.ts';
import { spendTokens } from '../graph/contracts/spend-counted.ts';
import { costsOf, withoutSecrets } from '../model-calls/model-access.ts';
import { isNamed } from './named-model.ts';
import { providerErrorOf } from './provider-error.ts';
import { withoutDefaults } from '../schema/schema-defaults.ts';

// State that the parts of a conversation share within one attempt: the error that ended it, the calls in progress, and whether code runs
// inside a step.

/** Set while the function of a tool or of a repair runs as one step. Calls made in it are part of that step. */
const insideStep = new AsyncLocalStorage<'tool' | 'repair'>();

export class Attempt {
  readonly ctx: NodeContext;
  #failure: { readonly error: unknown } | undefined;
  #openCount = 0;
  #changeCount = 0;
  /** Callbacks of those who wait for a call to begin or end. */
  #waiting: (() => void)[] = [];

  constructor(ctx: NodeContext) {
    this.ctx = ctx;
  }

  /** Runs the function of a step. */
  inside<T>(kind: 'tool' | 'repair', run: () => T): T {
    return insideStep.run(kind, run);
  }

  get stepKind(): 'tool' | 'repair' | undefined {
    return insideStep.getStore();
  }

  /** @throws the error that ended this attempt. The SDK may have caught it where it was thrown, so it is thrown again */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Ends the attempt with one of our errors, even if somebody catches it. @returns the error */
  end(error: unknown): unknown {
    this.#failure ??= { error };
    this.ctx.fail(error);
    return error;
  }

  /** Ends the attempt. @throws NODE_CALL_REFUSED */
  refuse(call: string, reason: string): never {
    const node = this.ctx.nodePath.join('/');
    throw this.end(new CairnError('NODE_CALL_REFUSED', { call, node, reason }));
  }

  /** Makes a call that counts as in progress until it has its result. */
  async during<T>(call: () => Promise<T>): Promise<T> {
    this.#openCount += 1;
    this.#tell();
    try {
      return await call();
    } finally {
      this.#openCount -= 1;
      this.#tell();
    }
  }

  /** Waits until a call begins or ends. @returns false if no call is in progress and none began within one turn of the event loop */
  async progress(): Promise<boolean> {
    const before = this.#changeCount;
    if (this.#openCount > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await new Promise<void>((resolve) => void setImmediate(resolve));
    return this.#changeCount > before;
  }

  #tell(): void {
    this.#changeCount += 1;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

// Copies of the SDK's requests. The SDK builds each request anew; parts equal to those of the request before keep their earlier copy, so
// that only new parts are hashed.

/** The parts of a request that are hashed. */
export interface PlainRequest {
  readonly settings: object;
  readonly messages: readonly object[];
}

/** Keeps the copies of one conversation. */
class RequestCopies {
  #settings: object = {};
  #messages: readonly object[] = [];

  copyOf(
    { provider, modelId }: Pick<SdkModel, 'provider' | 'modelId'>,
    { prompt, abortSignal: _signal, headers: _headers, includeRawChunks: _raw, ...settingsOfCall }: SdkCallOptions,
  ): PlainRequest {
    const settings = { provider, modelId, ...settingsOfCall };
    if (!isCopyOf(this.#settings, settings)) this.#settings = plainCopy(settings) as object;
    const known = this.#messages;
    this.#messages = prompt.map((message, at) => {
      const before = known[at];
      return before !== undefined && isCopyOf(before, message) ? before : (plainCopy(message) as object);
    });
    return { settings: this.#settings, messages: this.#messages };
  }
}

/** How a model's calls are made. */
export interface ModelOptions {
  /** Default: three attempts, if the provider's error may be temporary. */
  readonly retry?: RetryPolicy;
  /** Timeout of one attempt in milliseconds. */
  readonly timeoutMs?: number;
  /** Limits over all workers. Each call waits for its places before it is announced; `timeoutMs` counts from then. */
  readonly limit?: StepOptions['limit'];
  /** Whether it does no harm to repeat a call that offers tools run by the provider. Default false. */
  readonly idempotent?: boolean;
}

export const modelOptionNames: readonly string[] = Object.keys({
  retry: true,
  timeoutMs: true,
  limit: true,
  idempotent: true,
} satisfies Record<keyof ModelOptions, true>);

/** What one attempt of a call gets. */
export interface CallAttempt {
  /** The request with the signals of the attempt and of the caller, and the step's idempotency key for the provider. */
  readonly options: SdkCallOptions;
  readonly step: StepContext;
  readonly defaults: AnswerDefaults;
}

/** Thrown when a call failed with a provider's error after pieces of its answer had been passed on. */
export class InterruptedCall extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

/** Where a conversation stands, of several under one name: what its agent was made of, and changes of it that no call has told yet. */
interface Standing {
  readonly parts: AgentParts | undefined;
  readonly changes: readonly string[];
}

/** What is noted with a call. */
interface ChatNote {
  /** What its agent was made of, if that is another than with the call before. */
  readonly parts?: AgentParts;
  /** What has changed since the conversation began, if this is the first call that was made with it. */
  readonly changes?: readonly string[];
  /** Calls requested before it that were not made. */
  readonly refused?: RefusedCalls;
}

/** The description of tools that are gone. They are there for calls on record, and no model is offered them. */
export const goneTool = 'This tool is gone.';

/** What a call asks. */
interface RequestedCall {
  readonly settings: object;
  readonly messages: readonly object[];
  readonly place: CallPlace;
  /** The most tokens of its answer. */
  readonly tokensMax: number | undefined;
}

type FoundAnswer = RecordedCall<RecordedAnswer> & { readonly name: string; readonly isOlder: boolean };

const defaultRetry: RetryPolicy = { attempts: 3, on: ['MODEL_UNAVAILABLE'], jitter: 0.2 };

export class ModelCalls {
  readonly #attempt: Attempt;
  readonly #record: CallRecord<object>;
  readonly #copies = new RequestCopies();
  /** Settings without the defaults of the tools' arguments, by the settings with them. */
  readonly #bare = new WeakMap<object, object>();
  readonly #requested: RequestedCalls;
  readonly #createId: () => string;
  readonly #name: string;
  readonly #parts = new AgentDescriptions();
  /** Where conversations stand behind each answer that was given in this attempt. */
  readonly #standings = new Map<string, Standing>();
  readonly #onUnmade: (tool: string, call: RequestedToolCall, refused: RefusedCall) => void;
  /** Tools that look like the provider's but are run here. */
  readonly #ownTools: ReadonlySet<string>;

  constructor(
    attempt: Attempt,
    name: string,
    parts: {
      readonly requested: RequestedCalls;
      readonly createId: () => string;
      readonly ownTools: ReadonlySet<string>;
      readonly onChange: OnChange;
      /** Told of each call that the SDK refused by itself. */
      readonly onUnmade: (tool: string, call: RequestedToolCall, refused: RefusedCall) => void;
    },
  ) {
    this.#attempt = attempt;
    this.#name = name;
    this.#record = new CallRecord(attempt.ctx, `${name} model`, parts.onChange);
    this.#onUnmade = parts.onUnmade;
    this.#requested = parts.requested;
    this.#createId = parts.createId;
    this.#ownTools = parts.ownTools;
    for (const { note } of this.#record.past)
      this.#requested.noteRecorded((note as ChatNote | undefined)?.refused ?? {});
  }

  /**
   * Makes the call, or returns its recorded answer.
   * @throws AGENT_DIVERGED, which also ends the attempt; InterruptedCall; the provider's errors
   */
  async call(
    model: Pick<SdkModel, 'provider' | 'modelId'>,
    asked: SdkCallOptions,
    how: ModelOptions,
    make: (attempt: CallAttempt) => Promise<RecordedAnswer>,
  ): Promise<RecordedAnswer> {
    const attempt = this.#attempt;
    attempt.check();
    if (attempt.stepKind === 'tool')
      attempt.refuse('model', 'it is called inside a tool that is one step; declare the tool composed');
    const defaults = { id: this.#createId(), modelId: model.modelId, at: attempt.ctx.now() };
    const request = withoutGoneTools(asked);
    try {
      for (const unmade of this.#requested.unmade(request.prompt)) this.#onUnmade(...unmade);
      const { settings, messages } = this.asIdentified(this.#copies.copyOf(model, request));
      const place = this.#placeOf(request);
      while (this.#record.isDivergent(settings, messages, place)) if (!(await attempt.progress())) break;
      const requested = { settings, messages, place, tokensMax: request.maxOutputTokens };
      const options = this.#optionsOf(model, request, how);
      const perform = (step: StepContext): Promise<RecordedAnswer> =>
        make({ options: optionsFor(request, step, attempt.ctx.secrets), step, defaults });
      let found = await this.#ask(requested, options, perform, false);
      while (await this.#mustAskAnew(found, requested)) found = await this.#ask(requested, options, perform, true);
      const { response } = found;
      this.#requested.note(response);
      return response;
    } catch (error) {
      throw this.#judge(error);
    }
  }

  /** Where the call stands: behind which of the answers of this attempt, if any. */
  #placeOf({ prompt }: SdkCallOptions): CallPlace {
    const answer = prompt.findLast(({ role }) => role === 'assistant');
    const after = answer?.role === 'assistant' ? answerId(answer.content) : '';
    return { after: this.#standings.has(after) ? after : '', said: shortHash(plainCopy(prompt.at(-1)) ?? null) };
  }

  /**
   * Compares what the agent is made of with what it was made of at this place. A call that is new tells what has changed since its
   * conversation began; one on record tells what it told.
   */
  #stand(
    { after }: CallPlace,
    parts: AgentParts,
    recorded: ChatNote | undefined,
    isRecorded: boolean,
  ): { readonly note: { readonly note?: ChatNote }; readonly standing: Standing } {
    const before = this.#standings.get(after);
    const known = recorded?.parts ?? before?.parts;
    const pending = before?.changes ?? [];
    const changes = isRecorded ? recorded?.changes : pending.length > 0 ? pending : undefined;
    if (changes !== undefined) this.#tell(changes);
    if (isRecorded) {
      const since = recorded?.changes === undefined ? pending : [];
      return { note: {}, standing: { parts: known, changes: [...new Set([...since, ...changesOf(known, parts)])] } };
    }
    const isOther = before?.parts === undefined || changesOf(before.parts, parts).length > 0;
    const refused = this.#requested.takeRefused();
    const note: ChatNote = {
      ...(isOther && { parts }),
      ...(changes !== undefined && { changes }),
      ...(Object.keys(refused).length > 0 && { refused }),
    };
    return { note: Object.keys(note).length > 0 ? { note } : {}, standing: { parts, changes: [] } };
  }

  #tell(changes: readonly string[]): void {
    const event: AgentChange = { type: agentChanged, call: this.#record.madeCount + 1, changes };
    this.#attempt.ctx.emit(event, { recorded: true, name: `${this.#name} ${agentChanged}` });
  }

  /**
   * What identifies the call: its request with the arguments of tool calls as the model gave them, whatever the tools' schemas make of them,
   * and without the defaults of those schemas, which may be others each time, as a new id is. An older version took the request as the SDK
   * makes it, and a call that it made is found by that.
   */
  asIdentified(request: PlainRequest): PlainRequest {
    const { settings, messages } = request;
    const identified = {
      settings: this.#withoutDefaults(settings),
      messages: messages.map((message) => this.#requested.asGiven(message)),
    };
    const isSame =
      identified.settings === settings && identified.messages.every((message, at) => message === messages[at]);
    const isOlder =
      !isSame &&
      !this.#record.isKnown(identified.settings, identified.messages) &&
      this.#record.isKnown(settings, messages);
    return isOlder ? request : identified;
  }

  #withoutDefaults(settings: object): object {
    let bare = this.#bare.get(settings);
    if (bare === undefined) {
      const { tools } = settings as Pick<SdkCallOptions, 'tools'>;
      const hasDefaults = tools !== undefined && JSON.stringify(tools).includes('"default":');
      this.#bare.set(
        settings,
        (bare = hasDefaults ? { ...settings, tools: tools.map(toolWithoutDefaults) } : settings),
      );
    }
    return bare;
  }

  async #ask(
    { settings, messages, place, tokensMax }: RequestedCall,
    options: Parameters<NodeContext['step']>[1],
    make: (step: StepContext) => Promise<RecordedAnswer>,
    isAnew: boolean,
  ): Promise<FoundAnswer> {
    const attempt = this.#attempt;
    const { name, key, marks, isRecorded, isOlder, answered } = this.#record.enter(settings, messages, place);
    const { note, standing } = this.#stand(
      place,
      this.#parts.of(settings, messages),
      answered?.note as ChatNote,
      answered !== undefined,
    );
    const bound = isOlder || tokensMax === undefined ? {} : { tokensMax };
    const recorded = await attempt.during(() =>
      attempt.ctx.step(name, { ...options, input: key }, async (step): Promise<RecordedCall<RecordedAnswer>> => {
        // Announces that pieces of an earlier attempt are void, so that a page showing them removes them.
        if (isRecorded || step.attempt > 1) attempt.ctx.emit({ type: 'model-restarted', call: step.idempotencyKey });
        return { response: await make(step), marks, place, ...note, ...bound, ...(isAnew && { isAnew }) };
      }),
    );
    this.#record.leave();
    this.#standings.set(answerId(recorded.response.content), standing);
    return { ...recorded, name, isOlder };
  }

  /**
   * Whether the call is made again in place of this answer: it was cut off, the bound of its tokens was raised since, and the function has
   * called nothing after it that is on record, so that nothing was done on the strength of it.
   */
  async #mustAskAnew({ response, tokensMax, name, isOlder }: FoundAnswer, requested: RequestedCall): Promise<boolean> {
    const { ctx } = this.#attempt;
    const next = this.#record.nextOf(name);
    if (next === 'another') return false;
    if (next !== 'anew') {
      if (isOlder || !mayComeWhole(response.finishReason.unified, tokensMax, requested.tokensMax)) return false;
      if (next === undefined) while (!ctx.past.isAllMade()) if (!(await this.#attempt.progress())) return false;
    }
    ctx.emit({ type: 'model-asked-anew', dropped: 1 }, { recorded: true, name: 'model-asked-anew' });
    return true;
  }

  #optionsOf(
    { modelId }: Pick<SdkModel, 'modelId'>,
    { tools = [] }: SdkCallOptions,
    { retry = defaultRetry, timeoutMs, limit, idempotent = false }: ModelOptions,
  ) {
    const isActing = tools.some(({ type, name }) => type === 'provider' && !this.#ownTools.has(name));
    // A call that offers the provider's own tools may act on the world.
    const isHarmless = idempotent || !isActing;
    return {
      effect: 'external' as const,
      idempotent: isHarmless,
      isModelCall: isHarmless,
      followsRecord: true,
      about: `a call of the model ${modelId}`,
      retry,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(limit !== undefined && { limit }),
    };
  }

  /** Errors of a provider are passed to the SDK; all others end the attempt. */
  #judge(error: unknown): unknown {
    const providerError = providerErrorOf(error);
    if (providerError !== undefined)
      return providerError.isInterrupted ? new InterruptedCall(providerError.error) : providerError.error;
    return CairnError.is(error) ? this.#attempt.end(error) : error;
  }
}

/** Identifies an answer by its calls, whose ids are its own, or by its words. */
function answerId(content: readonly { readonly type: string }[]): string {
  const calls = content.flatMap((part) => ('toolCallId' in part && part.type === 'tool-call' ? [part.toolCallId] : []));
  const texts = content.flatMap((part) => ('text' in part && part.type === 'text' ? [part.text] : []));
  return shortHash(calls.length > 0 ? [calls] : texts.join(''));
}

function withoutGoneTools(request: SdkCallOptions): SdkCallOptions {
  const isGone = (tool: RequestedTool): boolean => tool.type === 'function' && tool.description === goneTool;
  if (request.tools?.some(isGone) !== true) return request;
  const tools = request.tools.filter((tool) => !isGone(tool));
  const { tools: _, toolChoice: _choice, ...rest } = request;
  return tools.length === 0 ? rest : { ...request, tools };
}

/** What agents are made of, by the requests of their calls. */
class AgentDescriptions {
  readonly #settings = new WeakMap<object, AgentParts>();
  readonly #hashes = new WeakMap<object, string>();

  of(settings: object, messages: readonly object[]): AgentParts {
    const roleOf = (message: object): unknown => (message as { readonly role?: unknown }).role;
    const system = messages.filter((message) => roleOf(message) === 'system');
    const first = messages.find((message) => roleOf(message) === 'user');
    return {
      instructions: shortHash(system.map((message) => this.#hashOf(message))),
      ...(first !== undefined && { prompt: this.#hashOf(first) }),
      ...this.#partsOf(settings),
    };
  }

  #hashOf(message: object): string {
    let hash = this.#hashes.get(message);
    if (hash === undefined) this.#hashes.set(message, (hash = shortHash(message)));
    return hash;
  }

  #partsOf(settings: object): AgentParts {
    let parts = this.#settings.get(settings);
    if (parts === undefined) {
      const {
        provider,
        modelId,
        tools = [],
        responseFormat,
        maxOutputTokens: _,
        ...others
      } = settings as Omit<SdkCallOptions, 'prompt'> & Pick<SdkModel, 'provider' | 'modelId'>;
      parts = {
        model: `${provider} ${modelId}`,
        settings: shortHash(others),
        ...(responseFormat !== undefined && { 'answer form': shortHash(responseFormat) }),
        ...Object.fromEntries(tools.map((tool) => [`tool ${tool.name}`, shortHash(tool)])),
      };
      this.#settings.set(settings, parts);
    }
    return parts;
  }
}

type RequestedTool = NonNullable<SdkCallOptions['tools']>[number];

function toolWithoutDefaults(tool: RequestedTool): RequestedTool {
  if (tool.type !== 'function') return tool;
  return { ...tool, inputSchema: withoutDefaults(tool.inputSchema) as typeof tool.inputSchema };
}

function optionsFor(
  request: SdkCallOptions,
  { idempotencyKey, signal }: StepContext,
  secrets: SecretReader,
): SdkCallOptions {
  const { abortSignal, headers, prompt } = request;
  return {
    ...request,
    prompt: withoutSecrets(prompt, secrets),
    abortSignal: abortSignal === undefined ? signal : AbortSignal.any([signal, abortSignal]),
    headers: { ...headers, 'Idempotency-Key': idempotencyKey },
  };
}

/** Reports the cost of a call; in `tokens` too, where a budget names them. A model of the engine has reported the rest itself. */
export function spendOn(
  { ctx }: Pick<Attempt, 'ctx'>,
  step: StepContext,
  model: SdkModel,
  { inputTokens, outputTokens }: SdkUsage,
): void {
  const usage = { inputTokens: inputTokens.total ?? 0, outputTokens: outputTokens.total ?? 0 };
  if (!isNamed(model)) step.spend(costsOf({ usage }));
  spendTokens(ctx, step, usage);
}
