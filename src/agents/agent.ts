/** The agent node: a model with instructions and tools, as one node of any graph. */
import { isPlainObject } from '../state/values/plain-object.ts';
import { CairnError } from '../errors.ts';
import type { ModelMessage } from '../graph/contracts/model-messages.ts';
import {
  type StateView,
  outcome,
  type NodeContext,
  type NodeImplementation,
} from '../graph/contracts/node-contract.ts';
import { type Computed, describeConfig, type OfState } from '../nodes/draft/computed.ts';
import type { Amounts } from '../graph/amounts.ts';
import type { OnBudget } from '../graph/graph.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from '../nodes/draft/node-draft.ts';
import type { AnySchema, SchemaValue } from '../schema/standard-schema.ts';
import { converse } from './agent-loop.ts';
import { agentTraits, createToolBox, toolClasses, type ToolClass, type ToolEntry } from './tools/tool-box.ts';
import { fileTools, openFiles } from './files/file-tools.ts';
import type { FileStore } from '../ports/file-store.ts';
import { traceAgent } from '../model-calls/gen-ai-spans.ts';
import { checkAgentOptions, type AgentOptions } from './check-options.ts';
import { finalForm } from './answers/final-answer.ts';
import { turnsFor, type ChatTurn } from './history/shared-chat.ts';
import type { HistoryLimit } from './history/conversation.ts';
import type { McpTools } from './mcp/mcp-tools.ts';
import { encodeValue } from '../state/values/encode.ts';
import type { ModelSettings, ModelStepOptions } from './model/model-step.ts';
import type { OnChange } from './model/call-record.ts';
import { modeNames } from './modes/modes.ts';
import type { ModeName } from './modes/text-modes.ts';

// Checks messages that code gives as a prompt: those of another library look alike, and only a part of them would be sent to the model.

const roles = ['system', 'user', 'assistant', 'tool'];
/** The fields that a part of each type cannot be without. */
const fieldsOfParts: Readonly<Record<string, readonly string[]>> = {
  text: ['text'],
  reasoning: ['text'],
  image: ['data'],
  file: ['data', 'mediaType'],
  'tool-call': ['id', 'tool'],
  'tool-result': ['id', 'tool'],
};

/** What is wrong with messages, as the end of a sentence; undefined if nothing is. */
function messagesFault(messages: unknown): string | undefined {
  if (messages instanceof Promise) return kindOf(messages);
  if (!Array.isArray(messages)) return `${kindOf(messages)}, not a text or messages`;
  for (const [index, message] of messages.entries()) {
    const fault = messageFault(message);
    if (fault !== undefined) return `a message ${index + 1} that ${fault}`;
  }
  return undefined;
}

/** What a function of the configuration gave, in words. */
function kindOf(value: unknown): string {
  if (value instanceof Promise) return 'a promise, where functions of the configuration answer at once';
  return value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value;
}

function messageFault(message: unknown): string | undefined {
  if (!isPlainObject(message)) return 'is no object';
  const { role, content, static: isStatic } = message;
  if (isStatic !== undefined && isStatic !== true) return 'has a `static` that is not true';
  if (!roles.includes(role as string)) return `has none of the roles ${roles.join(', ')}`;
  if (typeof content === 'string') return role === 'tool' ? 'has no list of results' : undefined;
  if (!Array.isArray(content)) return 'has no content: give a text, or a list of parts';
  for (const part of content) {
    const fault = partFault(part);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function partFault(part: unknown): string | undefined {
  const { type } = (part ?? {}) as { readonly type?: unknown };
  const fields = typeof type === 'string' && Object.hasOwn(fieldsOfParts, type) ? fieldsOfParts[type] : undefined;
  if (fields === undefined) return `has a part that is none of ${Object.keys(fieldsOfParts).join(', ')}`;
  const missing = fields.find((field) => (part as Readonly<Record<string, unknown>>)[field] === undefined);
  return missing === undefined ? undefined : `has a part ${type as string} without ${missing}`;
}

// The messages with which a conversation begins, computed from a node's configuration and the state.

/** A text, or a list of messages. */
export type Prompt = string | readonly ModelMessage[];

/** The part of a node's configuration that gives the opening messages. */
export interface Opening<S extends StateView = StateView> {
  /** The system message. */
  readonly instructions?: Computed<string, S>;
  /** Default: the run's input if it is a text, else its field `prompt`. With `chat`, nothing where somebody has said something there. */
  readonly prompt?: Computed<Prompt, S>;
}

/** Computes the opening messages. @throws CONFIG_INVALID there is no prompt */
export function openingOf(
  { instructions, prompt }: Opening,
  { state }: { readonly state: StateView },
  chat: readonly ModelMessage[] = [],
): readonly ModelMessage[] {
  const systemText = typeof instructions === 'function' ? instructions({ state }) : instructions;
  const silent = chat.length > 0 ? [] : undefined;
  const content = typeof prompt === 'function' ? prompt({ state }) : (prompt ?? silent ?? promptOf(state.input));
  if (systemText !== undefined && typeof systemText !== 'string')
    refuse(`instructions gave ${kindOf(systemText)}, not a text`);
  const fault = typeof content === 'string' ? undefined : messagesFault(content);
  if (fault !== undefined) refuse(`prompt gave ${fault}`);
  const system: readonly ModelMessage[] =
    systemText === undefined || systemText === '' ? [] : [{ role: 'system', content: systemText }];
  return [...system, ...chat, ...(typeof content === 'string' ? [{ role: 'user', content } as const] : content)];
}

/**
 * What identifies instructions that a function gives: what its node declares of it, else its source. What a closure captured, or a date,
 * makes no others of them.
 */
function sourceOf(
  instructions: unknown,
  { version, uses }: { readonly version?: string; readonly uses?: unknown },
): string | undefined {
  if (typeof instructions !== 'function') return undefined;
  if (version === undefined && uses === undefined) return String(instructions);
  return `${version ?? ''} ${encodeValue(uses ?? null)}`;
}

/** The models that a node asks, the first one first. @throws CONFIG_INVALID it is no name, or its function gave none */
export function modelsOf(
  node: string,
  model: Computed<string | readonly string[]>,
  { state }: { readonly state: StateView },
): readonly string[] {
  if (typeof model !== 'function') return checkModels(node, model);
  return namesOf(model({ state })) ?? refuse(`${node}: model gave no name of a model, or several`);
}

function checkModels(node: string, model: unknown): readonly string[] {
  return namesOf(model) ?? refuse(`${node}: model must be the name of a model, or several`);
}

function namesOf(models: unknown): readonly string[] | undefined {
  const names: unknown = typeof models === 'string' ? [models] : models;
  const isList = Array.isArray(names) && names.length > 0;
  return isList && names.every((name) => typeof name === 'string' && name !== '') ? names : undefined;
}

function promptOf(input: unknown): Prompt {
  if (typeof input === 'string') return input;
  const prompt = isPlainObject(input) ? input['prompt'] : undefined;
  if (typeof prompt === 'string') return prompt;
  return refuse('there is no prompt for the model: give `prompt`, or start the run with { prompt: "…" }');
}

function refuse(reason: string): never {
  throw new CairnError('CONFIG_INVALID', { reason });
}

export interface AgentConfig<
  S extends StateView = StateView,
  Schema extends AnySchema | undefined = AnySchema | undefined,
> extends Opening<S> {
  /**
   * Name of the model: `anthropic:claude-…`, or a name from the configuration. In a list, each model is tried if those before it give no
   * answer. A function of the state lets a fork set another model.
   */
  readonly model: Computed<string | readonly string[], S>;
  readonly tools?: Readonly<Record<string, ToolEntry & OfState<S>>>;
  /** MCP servers. Their tools are offered as `server__tool`. */
  readonly servers?: readonly McpTools[];
  /** Files that the agent may list, search, read, write and edit: `localFiles` or `memoryFiles`. Adds the tools for that to `tools`. */
  readonly files?: FileStore & OfState<S>;
  /** Schema of the final answer, which is then a value that fits it. Default: the answer is a text. */
  readonly output?: Schema;
  /** How model and tools communicate. Default `native`: the provider's own tool calls. The other modes are for models without those. */
  readonly mode?: ModeName;
  /** The most model calls. Default 15. */
  readonly maxLoops?: number;
  /** Tools that may act on the world without asking a person first; `true` for all. */
  readonly allow?: readonly string[] | true;
  /** Limits how much of a long conversation the model is sent. */
  readonly history?: HistoryLimit;
  /**
   * A conversation that it shares with others: the name of a list in `scratch`. What stands there comes before the prompt, each turn with its
   * author's name, and the answer is appended to it under the node's id ({@link ChatTurn}).
   */
  readonly chat?: string;
  /**
   * What becomes of a visit that began with other code: other instructions, tools, settings. Default `continue`: what is on record stands,
   * the next call is made with the agent as it is now, and the history says what has changed. `refuse`: the node fails with AGENT_DIVERGED
   * until it is put back.
   */
  readonly onChange?: OnChange;
  readonly settings?: Omit<ModelSettings, 'model' | 'tools' | 'schema'>;
  /** Retries and timeouts of model calls. */
  readonly calls?: Omit<ModelStepOptions, 'name' | 'fallbacks' | 'counted' | 'onChange'>;
  /**
   * What one visit may spend: `inputTokens`, `outputTokens`, `tokens` (the sum of both), `cost`, `seconds` (duration of its own model and
   * tool calls).
   */
  readonly budget?: Amounts;
  /** What happens to a call when too little of the budget remains: a person is asked (default), or the agent fails. */
  readonly onBudget?: OnBudget;
  /** For whom the agent works, recorded for those who look at the agent: user, session and anything else. */
  readonly context?: Computed<CallContext, S>;
  /** Description for other agents that use this one as a tool. */
  readonly description?: string;
  /** How often another agent may call it as a tool, in one visit of that agent. */
  readonly callsMax?: number;
}

/** For whom an agent works. */
export interface CallContext {
  readonly user?: string;
  readonly session?: string;
  readonly metadata?: unknown;
}

/** Type of an agent's answer: the type of its schema, else text. */
export type Answer<Schema> = [Schema] extends [AnySchema] ? SchemaValue<Schema> : string;

const configKeys = [
  'model',
  'instructions',
  'prompt',
  'tools',
  'servers',
  'files',
  'output',
  'mode',
  'maxLoops',
  'allow',
  'history',
  'chat',
  'onChange',
  'settings',
  'calls',
  'budget',
  'onBudget',
  'context',
  'description',
  'callsMax',
] as const satisfies readonly (keyof AgentConfig)[];

const defaultLoops = 15;
const promptInput = {
  type: 'object',
  required: ['prompt'],
  properties: { prompt: { type: 'string', description: 'All that it must know to do its work.' } },
  additionalProperties: false,
} as const;

/**
 * Makes a node in which a model works with tools until it answers. The answer is the node's output. Model calls and tool calls are steps:
 * each is recorded, so after a crash none is paid for or made twice. The node's effect class is `pure`; its steps have classes of their
 * own.
 * @throws CONFIG_INVALID
 */
export function agent<S extends StateView = StateView, Schema extends AnySchema | undefined = undefined>(
  config: AgentConfig<S, Schema>,
  options: NodeOptions = {},
): NodeDraft<S, Answer<Schema>> {
  refuseUnknownKeys('agent', config, configKeys);
  check(config);
  const { model, tools = {}, files, servers = [], output, mode = 'native', maxLoops = defaultLoops } = config;
  const { allow = [], calls = {}, onChange = 'continue' } = config;
  const box = createToolBox({ ...(files !== undefined && fileTools(files)), ...tools });
  checkServers(servers, box.names);
  checkAllow(allow, box.names);
  const form = output === undefined ? undefined : finalForm(output, 'agent: output');
  const isFixed = typeof model !== 'function';
  const settingsFor = (name: string): ModelSettings => ({ model: name, ...config.settings });
  const counted = Object.keys(config.budget ?? {});
  const { instructions, prompt, context, history = {}, chat } = config;
  const described = describeConfig({ instructions, prompt, context, history, ...(!isFixed && { model }) });
  const own = described.config as { readonly history: HistoryLimit } & Opening & Pick<AgentConfig, 'context'>;
  const run = async (ctx: NodeContext): Promise<unknown> => {
    const [first, ...fallbacks] = modelsOf('agent', model as AgentConfig['model'], ctx);
    const settings = settingsFor(first as string);
    const opened = files === undefined ? undefined : await openFiles(files, ctx);
    const answer = await traceAgent(ctx, { name: ctx.nodeId, model: settings.model }, (span) =>
      converse(ctx, openingOf(own, ctx, chat === undefined ? [] : turnsFor(ctx.nodeId, chat, ctx.state)), {
        settings,
        box,
        servers,
        allow,
        form,
        mode,
        loopsMax: maxLoops,
        history: own.history,
        steps: { ...calls, fallbacks, counted, onChange },
        source: sourceOf(instructions, options),
        context: typeof own.context === 'function' ? own.context(ctx) : own.context,
        span,
      }),
    );
    return ended(ctx, answer, { artifacts: opened?.artifacts(), chat });
  };
  const { callsMax, description = typeof instructions === 'string' ? instructions : 'An agent.' } = config;
  const classes = [...toolClasses(box, allow), ...servers.map(classOfServer)];
  const codeText = `${described.codeText}\n${box.codeText}`;
  const implementation: NodeImplementation = { run, inside: classes, codeText };
  agentTraits.set(implementation, {
    description,
    input: promptInput,
    tools: classes,
    ...(callsMax !== undefined && { callsMax }),
  });
  const data = {
    ...(described.data as object),
    settings: {
      ...(isFixed ? settingsFor((typeof model === 'string' ? model : model[0]) as string) : config.settings),
      tools: box.offered,
      ...(form !== undefined && { schema: form.json }),
    },
    ...(servers.length > 0 && { servers: servers.map((server) => server.data) }),
    mode,
    maxLoops,
    allow,
    ...(chat !== undefined && { chat }),
  };
  return {
    ...draftNode({ type: 'agent', effect: 'pure', config: data, implementation }, options),
    ...nodeSettings(config),
  };
}

function nodeSettings({
  budget,
  onBudget,
  chat,
}: Pick<AgentConfig, 'budget' | 'onBudget' | 'chat'>): Pick<NodeDraft, 'budget' | 'onBudget' | 'appends'> {
  return {
    ...(budget !== undefined && { budget }),
    ...(onBudget !== undefined && { onBudget }),
    ...(chat !== undefined && { appends: [`scratch.${chat}`] }),
  };
}

/** The answer as the node's output, with what else it leaves in the state. */
function ended(
  { nodeId: author }: NodeContext,
  answer: unknown,
  {
    artifacts,
    chat,
  }: { readonly artifacts: Readonly<Record<string, unknown>> | undefined; readonly chat: string | undefined },
): unknown {
  if (artifacts === undefined && chat === undefined) return answer;
  return outcome({
    output: answer,
    ...(artifacts !== undefined && { artifacts }),
    ...(chat !== undefined && { scratch: { [chat]: [{ author, content: answer } satisfies ChatTurn] } }),
  });
}

/** The tools of a server are not known yet. */
const classOfServer = ({ config: { server, allow } }: McpTools): ToolClass => {
  const isAllowed = allow === true || allow.length > 0;
  return { name: `${server}__*`, effect: 'external', asks: !isAllowed, isAllowed };
};

function check(config: { readonly model: unknown } & AgentOptions): void {
  if (typeof config.model !== 'function') checkModels('agent', config.model);
  checkAgentOptions(config, modeNames);
}

function refuseAgent(reason: string): never {
  throw new CairnError('CONFIG_INVALID', { reason: `agent: ${reason}` });
}

/** Checks that the names of servers and tools do not clash. The servers' tools are not known yet, only the prefix of their names. */
function checkServers(servers: readonly McpTools[], names: readonly string[]): void {
  const known = new Set<string>();
  for (const { config } of servers) {
    const { server } = config;
    if (known.has(server)) refuseAgent(`two MCP servers are named ${server}`);
    known.add(server);
    const taken = names.find((name) => name.startsWith(`${server}__`));
    if (taken !== undefined) refuseAgent(`the tool ${taken} has a name that is for tools of the MCP server ${server}`);
  }
}

function checkAllow(allow: readonly string[] | true, names: readonly string[]): void {
  const unknown = allow === true ? undefined : allow.find((name) => !names.includes(name));
  if (unknown !== undefined) refuseAgent(`allow names ${unknown}, which is none of its tools: ${names.join(', ')}`);
}
