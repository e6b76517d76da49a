/**
 * `durable(ctx)`: makes an agent written with the AI SDK durable inside a node. Its code stays as it is; its model calls and tool calls
 * become steps.
 */
import type {
  Tool,
  ToolApprovalConfiguration,
  ToolSet,
  LanguageModel,
  wrapLanguageModel,
  PrepareStepFunction,
  ToolCallRepairFunction,
} from 'ai';
import { askApproval, refusedText } from '../agents/tools/approval.ts';
import type { OnChange } from '../agents/model/call-record.ts';
import { onChanges } from '../agents/check-options.ts';
import { CairnError } from '../errors.ts';
import { toolToApprove, wasBegun, DurableTools, type ToolOptions } from './durable-tools.ts';
import { RequestedCalls, plainCopy, type SdkModel, type SdkToolCall } from './recorded-calls.ts';
import { Attempt, ModelCalls, modelOptionNames, type ModelOptions } from './model-calls.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { hashParts, hashText } from '../state/values/canonical-text.ts';
import { importPeer } from '../optional-peers.ts';
import { encodeValue } from '../state/values/encode.ts';
import { durableModel } from './durable-model.ts';
import { namedModel } from './named-model.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';

// Implements the SDK's `toolApproval` with questions. Where the SDK would return to its caller for the user's approval, a person is asked
// through the run.

type Configuration<Tools extends ToolSet> = ToolApprovalConfiguration<Tools, Record<string, unknown>>;
type Decide<Tools extends ToolSet> = Extract<Configuration<Tools>, (...args: never) => unknown>;
type ApprovalInput = Parameters<Decide<ToolSet>>[0];
type Status = Awaited<ReturnType<Decide<ToolSet>>>;

/** @param calls - know the key of a call, so that after a restart the question is recognised as the same, and whether it has begun */
function askingApproval(
  config: Configuration<ToolSet>,
  attempt: Attempt,
  requested: RequestedCalls,
  calls: Pick<DurableTools, 'keyOf' | 'hasBegun' | 'recordedRefusal'>,
): Decide<ToolSet> {
  return async (approval) => {
    const { toolCall, tools = {} } = approval;
    const { toolName: name, toolCallId } = toolCall;
    const input: unknown = toolCall.input;
    const refusal = requested.refusalOf(toolCallId);
    const call = requested.callOf(toolCallId);
    const key = calls.keyOf(name, input, call ?? { ordinal: 1, input });
    if (refusal !== undefined && !wasBegun(attempt.ctx, key)) return { type: 'denied', reason: refusal };
    const recorded = calls.recordedRefusal(key);
    if (recorded?.isDenied === true) return { type: 'denied', reason: recorded.reason };
    // The call itself fails with what is on record of it.
    if (recorded !== undefined) return 'approved';
    // What was begun was let pass, whatever the configuration says now.
    if (calls.hasBegun(key)) return 'approved';
    const status = await statusOf(config, approval);
    // The configuration has no entry for this tool, so the tool itself decides when it is called.
    if (status === undefined) return 'not-applicable';
    requested.decide(toolCallId);
    if ((typeof status === 'string' ? status : status.type) !== 'user-approval') return status;
    if (call === undefined) return attempt.refuse(`tool ${name}`, 'no model of this conversation asked for this call');
    const args = plainCopy(input);
    try {
      const decision = await attempt.during(async () => {
        const about = { ...(await toolToApprove(name, tools[name] as Tool)), audience: 'user' } as const;
        return askApproval(attempt.ctx, about, { key, input: args, args });
      });
      if (decision.kind === 'refused') return { type: 'denied', reason: refusedText(name, decision.reason) };
      if (decision.args === args) return 'approved';
      return { type: 'denied', reason: `a person wants it called with ${JSON.stringify(decision.args)}` };
    } catch (error) {
      throw CairnError.is(error) ? attempt.end(error) : error;
    }
  };
}

async function statusOf(config: Configuration<ToolSet>, approval: ApprovalInput): Promise<Status> {
  if (typeof config === 'function') return config(approval);
  const { toolCall, toolsContext, runtimeContext, messages } = approval;
  const own = Object.hasOwn(config, toolCall.toolName) ? config[toolCall.toolName] : undefined;
  if (typeof own !== 'function') return own;
  const { toolCallId, toolName } = toolCall;
  const toolContext = (toolsContext as Readonly<Record<string, never>>)[toolName] as never;
  return own(toolCall.input, { toolCallId, messages, toolContext, runtimeContext });
}

// A generator of ids that gives a repeated function the same ids again.

/** @param name - name of the conversation, so that two conversations in a node get different ids */
function seededIds({ nodePath, visit }: Pick<NodeContext, 'nodePath' | 'visit'>, name: string): () => string {
  const seed = hashParts([...nodePath, String(visit), name]).slice(0, 12);
  let count = 0;
  return () => `${seed}-${(count += 1)}`;
}

// Adapts models that implement an earlier version of the SDK's interface to the current one.

interface AiSdk {
  readonly wrapLanguageModel: typeof wrapLanguageModel;
}

/** Returns the model in the current version. Older ones are converted by the SDK itself at the first call. */
function currentModel(source: Exclude<LanguageModel, string>): SdkModel {
  if (source.specificationVersion === 'v4') return source;
  let translated: Promise<SdkModel> | undefined;
  const current = (): Promise<SdkModel> => (translated ??= translate(source));
  const { provider, modelId } = source;
  return {
    specificationVersion: 'v4',
    provider,
    modelId,
    get supportedUrls() {
      return source.supportedUrls;
    },
    doGenerate: async (options) => (await current()).doGenerate(options),
    doStream: async (options) => (await current()).doStream(options),
  };
}

async function translate(model: Parameters<typeof wrapLanguageModel>[0]['model']): Promise<SdkModel> {
  const sdk = await importPeer<AiSdk>('ai');
  return sdk.wrapLanguageModel({ model, middleware: [] });
}

export interface DurableOptions {
  /** Name of the conversation, unique within the node: letters, digits, `_`, `-` and `.`. */
  readonly name: string;
  /**
   * What becomes of a conversation that began with other code: another prompt, other tools. Default `continue`: what is on record stands,
   * the next call is made with the code as it is now, and the history says what has changed. `refuse`: the node fails with AGENT_DIVERGED
   * until it is put back.
   */
  readonly onChange?: OnChange;
}

/** Settings for the SDK, beside models and tools. They turn off the SDK's own retries, and make its ids the same after a restart. */
export interface DurableSettings {
  readonly maxRetries: 0;
  readonly _internal: { readonly generateId: () => string; readonly generateCallId: () => string };
}

/** The durable parts of one conversation. They are valid for one attempt, so make them in the node's function. */
export interface Durable {
  /** Spread these into the options of `generateText` and `streamText` and the settings of an agent. */
  readonly settings: DurableSettings;
  /** Aborted when the run is cancelled, the node times out or its claim is lost. Not aborted when the node waits. */
  readonly signal: AbortSignal;
  /**
   * A model whose calls are recorded, so that each is paid for once. A text names a model of the engine, such as `openai:gpt-…`. Calls
   * throw the provider's errors, and AGENT_DIVERGED.
   */
  model(model: LanguageModel, options?: ModelOptions): SdkModel;
  /**
   * Tools whose calls are recorded, so that each is made once. A tool without options has class `external`: if the process dies during a
   * call, a person is asked whether it happened.
   */
  tools<Tools extends ToolSet>(tools: Tools, options?: { readonly [Name in keyof Tools]?: ToolOptions }): Tools;
  /**
   * For `toolApproval`. Where the configuration requires the user's approval, a question is asked, and the agent goes on with the answer.
   */
  approval<Tools extends ToolSet>(
    config: ToolApprovalConfiguration<Tools, Record<string, unknown>>,
  ): ToolApprovalConfiguration<Tools, Record<string, unknown>>;
  /** For `prepareStep`. The model that it chooses is made durable. */
  prepareStep<Tools extends ToolSet>(
    prepare: PrepareStepFunction<Tools>,
    options?: ModelOptions,
  ): PrepareStepFunction<Tools>;
  /** For `repairToolCall`. The repaired call is recorded, together with the model calls that it took. */
  repair<Tools extends ToolSet>(repair: ToolCallRepairFunction<Tools>): ToolCallRepairFunction<Tools>;
}

const namePattern = /^[\w.-]{1,64}$/u;
const taken = new WeakMap<NodeContext, Set<string>>();

/**
 * Makes the durable parts of a conversation that the AI SDK runs.
 * @param ctx - the context of the node's attempt, or of a composed tool
 * @throws CONFIG_INVALID the name is invalid, or another conversation of this attempt has it
 */
export function durable(ctx: NodeContext, options: DurableOptions): Durable {
  refuseUnknownKeys('durable', options, ['name', 'onChange']);
  const { name, onChange = 'continue' } = options;
  if (!onChanges.includes(onChange)) throw refusedOption('onChange must be continue or refuse');
  claimName(ctx, name);
  const attempt = new Attempt(ctx);
  const requested = new RequestedCalls();
  const createId = seededIds(ctx, name);
  const ownTools = new Set<string>();
  const wrapping = new DurableTools(attempt, name, requested);
  const calls = new ModelCalls(attempt, name, {
    requested: requested,
    createId: seededIds(ctx, `${name} model`),
    ownTools,
    onChange,
    onUnmade: (tool, call, refused) => wrapping.settle(tool, call, refused),
  });
  const wrapped = new WeakSet<object>();
  const signal = cancelSignal(ctx);
  const model: Durable['model'] = (named, how = {}) => {
    refuseUnknownKeys('a model of durable', how, modelOptionNames);
    if (typeof named === 'object' && wrapped.has(named)) return named as SdkModel;
    const source = typeof named === 'string' ? namedModel(named, ctx) : currentModel(named);
    const made = durableModel(source, attempt, calls, how);
    wrapped.add(made);
    return made;
  };
  return {
    settings: { maxRetries: 0, _internal: { generateId: createId, generateCallId: createId } },
    signal,
    model,
    tools(tools, options = {}) {
      for (const [id, { type, isProviderExecuted }] of Object.entries(tools))
        if (type === 'provider' && !isProviderExecuted) ownTools.add(id);
      return wrapping.wrap(tools, options);
    },
    approval: (config) =>
      askingApproval(
        config as ToolApprovalConfiguration<ToolSet, Record<string, unknown>>,
        attempt,
        requested,
        wrapping,
      ) as unknown as typeof config,
    prepareStep: (prepare, options) => async (step) => {
      const prepared = await prepare(step);
      return prepared?.model === undefined ? prepared : { ...prepared, model: model(prepared.model, options) };
    },
    repair: (repair) => (failed) => {
      attempt.check();
      const { toolCall, error } = failed;
      const input = plainCopy({ toolCall, reason: error.message });
      const step = `${name} repair ${toolCall.toolName} ${hashText(encodeValue(input)).slice(0, 22)}`;
      const options = { effect: 'external', idempotent: true, input } as const;
      return attempt.during(async () => {
        try {
          return await ctx.step(step, options, () =>
            attempt.inside('repair', async () => plainCopy(await repair(failed)) as SdkToolCall | null),
          );
        } catch (failure) {
          throw CairnError.is(failure) ? attempt.end(failure) : failure;
        }
      });
    },
  };
}

function refusedOption(reason: string): CairnError {
  return new CairnError('CONFIG_INVALID', { reason: `durable: ${reason}` });
}

function claimName(ctx: NodeContext, name: string): void {
  const refuse = (reason: string): never => {
    throw refusedOption(reason);
  };
  if (typeof name !== 'string' || !namePattern.test(name))
    refuse('name must be a word of letters, digits, _, - and ., 64 at most');
  const names = taken.get(ctx) ?? new Set();
  taken.set(ctx, names);
  if (names.has(name)) refuse(`there are two conversations ${JSON.stringify(name)} in one attempt`);
  names.add(name);
}

/** A signal like the attempt's, but not aborted when the function stops at a wait, so that the SDK does not throw then. */
function cancelSignal({ signal }: NodeContext): AbortSignal {
  const own = new AbortController();
  const tell = (): void => {
    const hasLeft = CairnError.is(signal.reason) && signal.reason.code === 'NODE_CALL_REFUSED';
    if (!hasLeft) own.abort(signal.reason);
  };
  if (signal.aborted) tell();
  else signal.addEventListener('abort', tell, { once: true });
  return own.signal;
}
