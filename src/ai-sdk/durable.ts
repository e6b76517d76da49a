/**
 * `durable(ctx)`: makes an agent written with the AI SDK durable inside a node. Its code stays as it is; its model calls and tool calls
 * become steps.
 */
import type {
  LanguageModel,
  PrepareStepFunction,
  ToolApprovalConfiguration,
  ToolCallRepairFunction,
  ToolSet,
} from 'ai';
import { CairnError } from '../errors.ts';
import type { NodeContext } from '../graph/contracts/node-contract.ts';
import { encodeValue } from '../state/values/codec.ts';
import { hashText } from '../state/values/hash.ts';
import { AskedCalls } from './asked-calls.ts';
import { askingApproval } from './asking-approval.ts';
import { Attempt } from './attempt.ts';
import { durableModel } from './durable-model.ts';
import { DurableTools, type ToolOptions } from './durable-tools.ts';
import { ModelCalls, modelOptionNames, type ModelOptions } from './model-calls.ts';
import { namedModel } from './named-model.ts';
import { plainCopy } from './plain-copy.ts';
import { seededIds } from './seeded-ids.ts';
import type { SdkModel, SdkToolCall } from './sdk-types.ts';
import { currentModel } from './current-model.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';

export interface DurableOptions {
  /** Name of the conversation, unique within the node: letters, digits, `_`, `-` and `.`. */
  readonly name: string;
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
  /** For `repairToolCall`. The repaired call is recorded, together with whatever models were asked for it. */
  repair<Tools extends ToolSet>(repair: ToolCallRepairFunction<Tools>): ToolCallRepairFunction<Tools>;
}

const namePattern = /^[\w.-]{1,64}$/u;
const taken = new WeakMap<NodeContext, Set<string>>();

/**
 * Makes the durable parts of a conversation held by the AI SDK.
 * @param ctx - the context of the node's attempt, or of a composed tool
 * @throws CONFIG_INVALID the name is invalid, or another conversation of this attempt has it
 */
export function durable(ctx: NodeContext, options: DurableOptions): Durable {
  refuseUnknownKeys('durable', options, ['name']);
  const { name } = options;
  claimName(ctx, name);
  const attempt = new Attempt(ctx);
  const asked = new AskedCalls();
  const createId = seededIds(ctx, name);
  const ownTools = new Set<string>();
  const calls = new ModelCalls(attempt, name, { asked, createId: seededIds(ctx, `${name} model`), ownTools });
  const wrapping = new DurableTools(attempt, name, asked);
  const wrapped = new WeakSet<object>();
  const signal = cancelSignal(ctx);
  const model: Durable['model'] = (given, how = {}) => {
    refuseUnknownKeys('a model of durable', how, modelOptionNames);
    if (typeof given === 'object' && wrapped.has(given)) return given as SdkModel;
    const source = typeof given === 'string' ? namedModel(given, ctx) : currentModel(given);
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
      askingApproval(config as ToolApprovalConfiguration<ToolSet, Record<string, unknown>>, attempt, asked, (...call) =>
        wrapping.keyOf(...call),
      ) as unknown as typeof config,
    prepareStep: (prepare, options) => async (given) => {
      const prepared = await prepare(given);
      return prepared?.model === undefined ? prepared : { ...prepared, model: model(prepared.model, options) };
    },
    repair: (repair) => (given) => {
      attempt.check();
      const { toolCall, error } = given;
      const input = plainCopy({ toolCall, reason: error.message });
      const step = `${name} repair ${toolCall.toolName} ${hashText(encodeValue(input)).slice(0, 22)}`;
      const options = { effect: 'external', idempotent: true, input } as const;
      return attempt.during(async () => {
        try {
          return await ctx.step(step, options, () =>
            attempt.inside('repair', async () => plainCopy(await repair(given)) as SdkToolCall | null),
          );
        } catch (failure) {
          throw CairnError.is(failure) ? attempt.end(failure) : failure;
        }
      });
    },
  };
}

function claimName(ctx: NodeContext, name: string): void {
  const refuse = (reason: string): never => {
    throw new CairnError('CONFIG_INVALID', { reason: `durable: ${reason}` });
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
    const isLeft = CairnError.is(signal.reason) && signal.reason.code === 'NODE_CALL_REFUSED';
    if (!isLeft) own.abort(signal.reason);
  };
  if (signal.aborted) tell();
  else signal.addEventListener('abort', tell, { once: true });
  return own.signal;
}
