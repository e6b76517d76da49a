/** Wraps the SDK's tools so that each call is a step, identified by the tool and its arguments (A4). */
import { CairnError } from '../errors.ts';
import { isDeepStrictEqual } from 'node:util';
import type { Tool, ToolSet } from 'ai';
import {
  type ToolToApprove,
  askApproval,
  asksBefore,
  isApprovalRequested,
  questionName,
  recordedDecision,
  refusedText,
} from '../agents/tools/approval.ts';
import { lastOf } from '../agents/tools/observation.ts';
import type { JsonSchema } from '../graph/contracts/node-type.ts';
import { checkAgainst, isStandardSchema, jsonSchemaOf, type AnySchema } from '../schema/standard-schema.ts';
import { ToolRecords, type Begun } from '../agents/tools/tool-records.ts';
import { importPeer } from '../optional-peers.ts';
import { type ToolCallContext, type ApprovalPolicy, type FunctionTool, callContext } from '../agents/tools/tool-box.ts';
import type { NodeContext, Question, StepContext } from '../graph/contracts/node-contract.ts';
import { checkToolOptions } from '../agents/tools/check-tool.ts';
import { traceTool } from '../model-calls/gen-ai-spans.ts';
import { toolCallKey } from '../model-calls/model-access.ts';
import { scopeContext, isOfTool } from '../agents/tools/tool-calls.ts';
import { readableThrown } from '../errors.ts';
import { encodeValue } from '../state/values/encode.ts';
import { nestingFault } from '../state/values/nesting.ts';
import {
  type RefusedCall,
  type RequestedToolCall,
  type RequestedCalls,
  plainCopy,
  type SdkToolOptions,
} from './recorded-calls.ts';
import { goneTool, type Attempt } from './model-calls.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';

// Describes a tool of the SDK in a question to a person. The tool's schema may have any form that the SDK accepts.

type Validated =
  | { readonly success: true; readonly value: unknown }
  | { readonly success: false; readonly error: Error };

/** The result of the SDK's `jsonSchema` and `zodSchema`. */
interface SdkSchema {
  readonly validate?: (value: unknown) => PromiseLike<Validated> | Validated;
  readonly jsonSchema: JsonSchema | PromiseLike<JsonSchema>;
}

export async function toolToApprove(name: string, { inputSchema: source }: Tool): Promise<ToolToApprove> {
  const schema = (typeof source === 'function' && !isStandardSchema(source) ? source() : source) as
    | AnySchema
    | SdkSchema;
  if (isStandardSchema(schema))
    return { name, definition: { input: schema }, inputSchema: jsonSchemaOf(schema, 'input', `tool ${name}: input`) };
  const { validate, jsonSchema } = schema as SdkSchema;
  const inputSchema = await jsonSchema;
  if (validate === undefined) return { name, definition: { input: inputSchema }, inputSchema };
  const check = async (value: unknown): Promise<object> => {
    const checked = await validate(value);
    return checked.success ? { value: checked.value } : { issues: [{ message: checked.error.message }] };
  };
  const input = { '~standard': { version: 1, vendor: 'ai', validate: check } } as AnySchema;
  return { name, definition: { input }, inputSchema };
}

// Gives a tool's function information about its call, found through the SDK's second argument.

interface NotedCall {
  readonly call?: ToolCallContext;
  readonly context?: NodeContext;
}

const noted = new WeakMap<object, NotedCall>();

function noteToolCall(options: object, call: NotedCall): void {
  noted.set(options, call);
}

/**
 * The call that a tool's function runs for: its idempotency key, signal, live events, secrets and files. Undefined if the tool is not
 * durable, or is composed.
 * @param options - the second argument of the tool's function
 */
export function callOf(options: object): ToolCallContext | undefined {
  return noted.get(options)?.call;
}

/**
 * The node's context for a composed tool, to make its own steps, questions and child runs. Undefined in other tools.
 * @param options - the second argument of the tool's function
 */
export function contextOf(options: object): NodeContext | undefined {
  return noted.get(options)?.context;
}

/** Options of a tool: what recovery may do with its calls, and when a person is asked. */
export interface ToolOptions extends Pick<
  FunctionTool,
  'effect' | 'idempotent' | 'retry' | 'timeoutMs' | 'limit' | 'reconcile'
> {
  /**
   * Whether the tool asks questions, waits, or has steps of its own. Its function is then repeated on resume, and records the calls it
   * makes through `contextOf`.
   */
  readonly composed?: boolean;
  /** When to ask a person before a call. Default: the tool's `needsApproval` decides. */
  readonly approval?: ApprovalPolicy<unknown>;
  /** Whom to ask: `staff` (default), or the `user` whose request the run is. */
  readonly audience?: Question['audience'];
}

const optionNames = Object.keys({
  composed: true,
  approval: true,
  audience: true,
  effect: true,
  idempotent: true,
  retry: true,
  timeoutMs: true,
  limit: true,
  reconcile: true,
} satisfies Record<keyof ToolOptions, true>);

/** An error that the SDK tells the model in these words, without the name of a class before them. */
class RefusedCallError extends Error {
  override toString(): string {
    return this.message;
  }
}

type Execute = (input: unknown, options: SdkToolOptions) => unknown;

interface ToolCall {
  readonly name: string;
  readonly tool: Tool;
  readonly how: ToolOptions;
  readonly input: unknown;
  readonly options: SdkToolOptions;
  /** Whether the tool is there for what is on record of it alone. */
  readonly isGone: boolean;
}

/** The part of the AI SDK that reads schemas of any form. */
interface AiSdk {
  asSchema(schema: unknown): SdkSchema;
}

export class DurableTools {
  readonly #attempt: Attempt;
  readonly #name: string;
  readonly #requested: RequestedCalls;
  readonly #records: ToolRecords;

  constructor(attempt: Attempt, name: string, requested: RequestedCalls) {
    this.#attempt = attempt;
    this.#name = name;
    this.#requested = requested;
    this.#records = new ToolRecords(attempt.ctx, `${name} `);
  }

  wrap<Tools extends ToolSet>(tools: Tools, how: { readonly [Name in keyof Tools]?: ToolOptions }): Tools {
    refuseUnknownKeys('the options of tools', how, Object.keys(tools));
    for (const [name, one] of Object.entries(how))
      if (one !== undefined) {
        refuseUnknownKeys(`the tool ${name}`, one, optionNames);
        checkToolOptions(`the tool ${name}`, one);
        if (one.composed === true && one.limit !== undefined)
          throw new CairnError('CONFIG_INVALID', {
            reason: `the tool ${name} is composed: name the limit at the steps in it`,
          });
      }
    const wrapped = Object.entries(tools).map(([name, tool]) => [
      name,
      this.#wrap(name, tool as Tool, how[name] ?? {}),
    ]);
    const gone = [...this.#records.tools()].filter((name) => !Object.hasOwn(tools, name));
    return Object.fromEntries([...wrapped, ...gone.map((name) => [name, this.#goneTool(name)])]) as Tools;
  }

  #wrap(name: string, tool: Tool, how: ToolOptions): Tool {
    // A tool without a function is run by the provider, or outside of this process.
    if (typeof tool.execute !== 'function') return tool;
    const execute: Execute = (input, options) => this.#call({ name, tool, how, input, options, isGone: false });
    const inputSchema = this.#records.tools().has(name) ? this.#takingBegun(name, tool.inputSchema) : tool.inputSchema;
    return { ...tool, inputSchema, needsApproval: false, execute } as Tool;
  }

  /** Stands in for a tool of which calls are on record, so that the SDK hands them over. Models are not offered it. */
  #goneTool(name: string): Tool {
    const any = async (value: unknown): Promise<Validated> => Promise.resolve({ success: true, value });
    const inputSchema = sdkSchema({ type: 'object' }, any);
    const tool = { description: goneTool, inputSchema } as unknown as Tool;
    const execute: Execute = (input, options) => this.#call({ name, tool, how: {}, input, options, isGone: true });
    return { ...tool, execute };
  }

  /** The same schema, but for calls that have begun: they are handed over whatever they are, since what happened does not depend on it. */
  #takingBegun(name: string, source: unknown): object {
    const read = importPeer<AiSdk>('ai').then((sdk) => sdk.asSchema(source));
    return sdkSchema(
      read.then(({ jsonSchema }) => jsonSchema),
      async (value) => {
        const { validate } = await read;
        const checked: Validated = validate === undefined ? { success: true, value } : await validate(value);
        const hasBegun = (): boolean =>
          this.#records.isAnyBegun(`${this.#name} ${toolCallKey(name, plainCopy(value))}`);
        return checked.success || !hasBegun() ? checked : { success: true, value };
      },
    );
  }

  /** Whether a call is on record, and not only a question about it. */
  hasBegun(key: string): boolean {
    return this.#records.beganAs(key) !== undefined;
  }

  /** A call that the SDK refused by itself: what is on record of it is not called any more, and a question about it is closed. */
  settle(name: string, call: RequestedToolCall, refused: RefusedCall): void {
    const key = this.keyOf(name, call.input, call);
    this.#setAside(key);
    this.#requested.refuse(key, refused);
  }

  #setAside(key: string): void {
    if (this.#records.beganAs(key) === undefined) this.#records.closeApproval(key);
    else this.#records.pass(key);
  }

  /** What a model was told of a call that is not made, if that is on record: the call is not made now either. */
  recordedRefusal(key: string): RefusedCall | undefined {
    const refused = this.#requested.recordedRefusal(key);
    if (refused !== undefined) this.#setAside(key);
    return refused;
  }

  /** Ends a call that is not made, since its tool is gone. */
  #refuse(key: string, name: string): never {
    const reason = goneText(name);
    this.#requested.refuse(key, { reason });
    throw new RefusedCallError(reason);
  }

  async #call(call: ToolCall): Promise<unknown> {
    const attempt = this.#attempt;
    attempt.check();
    const { name, options } = call;
    const reason = 'no model of this conversation asked for this call, or it was made; wrap the model with d.model';
    const requested = this.#requested.take(options.toolCallId) ?? attempt.refuse(`tool ${name}`, reason);
    const nesting = nestingFault(call.input);
    if (nesting !== undefined) throw new Error(`the arguments of ${name} cannot be used: ${nesting}`);
    const key = this.keyOf(name, call.input, requested);
    const recorded = this.recordedRefusal(key);
    if (recorded !== undefined) throw new RefusedCallError(recorded.reason);
    const refusal = this.#requested.refusalOf(options.toolCallId);
    if (refusal !== undefined && !wasBegun(attempt.ctx, key)) throw new Error(refusal);
    return attempt.during(async () => {
      try {
        return await this.#make(key, call, requested);
      } catch (thrown) {
        const error = readableThrown(thrown);
        throw isOfTool(error, attempt.ctx) ? error : attempt.end(error);
      }
    });
  }

  /** Makes a call, unless what is on record of it says how it ended. */
  async #make(key: string, call: ToolCall, requested: RequestedToolCall): Promise<unknown> {
    const records = this.#records;
    const begun = records.beganAs(key);
    if (begun === undefined) {
      if (!call.isGone) return this.#perform(key, { ...call, input: await this.#approved(key, call, requested) });
      records.closeApproval(key);
      return this.#refuse(key, call.name);
    }
    if (!(await this.#fits(key, begun, call, requested))) return this.#endWithout(key, begun, call, requested);
    const args = plainCopy(call.input);
    const decision = recordedDecision(this.#attempt.ctx, { key, input: requested.input ?? args, args });
    records.passApproval(key);
    const isOther = decision.kind === 'approved' && !isDeepStrictEqual(decision.args, args);
    return this.#perform(key, isOther ? { ...call, input: decision.args } : call);
  }

  /** Whether a call that began like this goes on with its tool as it is now. */
  async #fits(
    key: string,
    begun: Begun,
    { name, tool, how, isGone }: ToolCall,
    { input }: RequestedToolCall,
  ): Promise<boolean> {
    if (isGone || (begun === 'parts') !== (how.composed === true) || begun === 'child') return false;
    if (this.#records.stepOf(key)?.status === 'done') return true;
    const { definition } = await toolToApprove(name, tool);
    return (await checkAgainst(definition.input, input, 'arguments')).fault === undefined;
  }

  /** Ends a call that began with a tool which is gone or another now: as it ended on record, else as far as anybody knows. */
  async #endWithout(key: string, begun: Begun, call: ToolCall, requested: RequestedToolCall): Promise<unknown> {
    const { name } = call;
    const records = this.#records;
    records.passApproval(key);
    if (begun === 'step') return records.endOfStep(key, name, requested.input);
    const inner = records.innerEffects(key);
    for (const { name: step, status } of inner)
      if (status === 'started')
        await records.endOfStep(step, name, requested.input).catch((error: unknown) => {
          if (!isOfTool(error, this.#attempt.ctx)) throw error;
        });
    records.abandon(key);
    if (inner.length === 0 && !call.isGone) return this.#perform(key, call);
    if (inner.length === 0) return this.#refuse(key, name);
    throw new Error(unknownText(name));
  }

  /**
   * The key of a call, which identifies its step and its question: by the arguments that the model gave, whatever the tool's schema makes of
   * them. An older version took the checked ones, and a call that it began keeps its key.
   * @param checked - the arguments as the SDK has checked them
   */
  keyOf(name: string, checked: unknown, call: RequestedToolCall): string {
    const { ctx } = this.#attempt;
    const keyFor = (input: unknown): string => {
      const key = `${this.#name} ${toolCallKey(name, plainCopy(input))}`;
      return call.ordinal === 1 ? key : `${key} ${call.ordinal}`;
    };
    // Chosen once: when its question has been asked in this attempt, the record does not tell any more which key it has.
    if (call.key === undefined) {
      const key = keyFor(call.input ?? checked);
      const older = keyFor(checked);
      call.key = key !== older && !wasBegun(ctx, key) && wasBegun(ctx, older) ? older : key;
    }
    return call.key;
  }

  /** The arguments to make the call with. If a person was asked, they may have changed them. */
  async #approved(
    key: string,
    { name, tool, how, input, options }: ToolCall,
    { input: given }: RequestedToolCall,
  ): Promise<unknown> {
    if (this.#requested.isDecided(options.toolCallId)) return input;
    const mustAsk = (): Promise<boolean> => needsApproval(tool, how, input, options);
    if (!(await isApprovalRequested(this.#attempt.ctx, key, mustAsk))) return input;
    const args = plainCopy(input);
    const question = { ...(await toolToApprove(name, tool)), audience: how.audience };
    const decision = await askApproval(this.#attempt.ctx, question, { key, input: given ?? args, args });
    if (decision.kind === 'refused') throw new Error(refusedText(name, decision.reason));
    return isDeepStrictEqual(decision.args, args) ? input : decision.args;
  }

  #perform(key: string, { name, tool, how, input, options }: ToolCall): Promise<unknown> {
    const attempt = this.#attempt;
    const { ctx } = attempt;
    const execute = tool.execute as Execute;
    const tellAs =
      (call: string) =>
      (value: unknown): void =>
        ctx.emit({ type: 'tool-progress', call, tool: name, value: plainCopy(value) });
    const traced = { name, call: options.toolCallId, args: input };
    if (how.composed === true) {
      const own = { ...options };
      noteToolCall(own, { context: scopeContext(ctx, key) });
      return traceTool(ctx, traced, () => lastOf(execute(input, own), tellAs(key)));
    }
    return ctx.step(key, stepOptionsOf(name, how, input), (step) =>
      attempt.inside('tool', () => {
        const own = { ...options, abortSignal: signalOf(step, options) };
        noteToolCall(own, { call: callContext(ctx, step) });
        return traceTool(ctx, traced, () => lastOf(execute(input, own), tellAs(step.idempotencyKey)));
      }),
    );
  }
}

/** A schema as the SDK's `jsonSchema` makes it. */
function sdkSchema(
  json: JsonSchema | PromiseLike<JsonSchema>,
  validate: (value: unknown) => Promise<Validated>,
): object {
  return { [Symbol.for('vercel.ai.schema')]: true, jsonSchema: json, validate };
}

const goneText = (name: string): string => `there is no tool ${name} any more`;
const unknownText = (name: string): string =>
  `${name} had begun, and the tool has changed since. It is not known whether it took effect.`;

/** Whether a call is on record, or a question about it: an older version made as many calls of an answer as it requested. */
export function wasBegun({ past }: Pick<NodeContext, 'past'>, key: string): boolean {
  if (past.isRecorded(key) || past.kindOf(questionName(key)) !== undefined) return true;
  return past.steps().some(({ name }) => name.startsWith(`${key} `));
}

function stepOptionsOf(name: string, how: ToolOptions, args: unknown): Parameters<NodeContext['step']>[1] {
  const { effect = 'external', idempotent = false, retry, timeoutMs, limit, reconcile } = how;
  const input = plainCopy(args);
  return {
    effect,
    idempotent,
    input,
    knownByName: true,
    about: `${name} ${encodeValue(input)}`,
    ...(retry !== undefined && { retry }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(limit !== undefined && { limit }),
    ...(reconcile !== undefined && {
      reconcile: ({ idempotencyKey }: { readonly idempotencyKey: string }) => reconcile({ idempotencyKey, args }),
    }),
  };
}

function signalOf({ signal }: StepContext, { abortSignal }: SdkToolOptions): AbortSignal {
  return abortSignal === undefined ? signal : AbortSignal.any([signal, abortSignal]);
}

async function needsApproval(
  { needsApproval: own = false }: Tool,
  { approval }: ToolOptions,
  input: unknown,
  { toolCallId, messages, context }: SdkToolOptions,
): Promise<boolean> {
  if (approval !== undefined) return asksBefore(approval, input);
  return typeof own === 'function' ? own(input, { toolCallId, messages, context }) : own;
}
