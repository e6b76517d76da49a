/** The agent node: a model with instructions and tools, as one node of any graph. */
import { CairnError } from '../errors.ts';
import type { Amounts } from '../graph/amounts.ts';
import { outcome, type NodeContext, type StateView } from '../graph/contracts/node-contract.ts';
import type { OnBudget } from '../graph/graph.ts';
import { describeConfig } from '../nodes/draft/computed.ts';
import { refuseUnknownKeys } from '../graph/known-keys.ts';
import { draftNode, type NodeDraft, type NodeOptions } from '../nodes/draft/node-draft.ts';
import type { Computed, OfState } from '../nodes/draft/typed-context.ts';
import type { AnySchema, SchemaValue } from '../schema/standard-schema.ts';
import { converse } from './agent-loop.ts';
import { agentTraits } from './tools/agent-traits.ts';
import { fileTools } from './files/file-tools.ts';
import { openFiles } from './files/open-files.ts';
import type { FileStore } from '../ports/file-store.ts';
import { traceAgent } from '../model-calls/gen-ai-spans.ts';
import { finalForm } from './final-answer.ts';
import type { HistoryLimit } from './history/history-limit.ts';
import { checkAgentOptions, type AgentOptions } from './check-options.ts';
import type { McpTools } from './mcp/mcp-tools.ts';
import type { ModelSettings, ModelStepOptions } from './model/model-step.ts';
import { modeNames } from './modes/create-mode.ts';
import type { ModeName } from './modes/mode.ts';
import { openingOf, type Opening } from './prompt.ts';
import { createToolBox, type ToolEntry } from './tools/tool-box.ts';

export interface AgentConfig<
  S extends StateView = StateView,
  Schema extends AnySchema | undefined = AnySchema | undefined,
> extends Opening<S> {
  /**
   * Name of the model: `anthropic:claude-…`, or a name from the configuration. In a list, each model is tried if those before it give no
   * answer.
   */
  readonly model: string | readonly string[];
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
  readonly settings?: Omit<ModelSettings, 'model' | 'tools' | 'schema'>;
  /** Retries and timeouts of model calls. */
  readonly calls?: Omit<ModelStepOptions, 'name' | 'fallbacks' | 'counted'>;
  /**
   * What one visit may spend: `inputTokens`, `outputTokens`, `tokens` (the sum of both), `cost`, `seconds` (duration of its own model and
   * tool calls).
   */
  readonly budget?: Amounts;
  /** What happens to a call when too little of the budget is left: a person is asked (default), or the agent fails. */
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
  const { allow = [], calls = {} } = config;
  const box = createToolBox({ ...(files !== undefined && fileTools(files)), ...tools });
  checkServers(servers, box.names);
  checkAllow(allow, box.names);
  const form = output === undefined ? undefined : finalForm(output, 'agent: output');
  const [first, ...fallbacks] = namesOf(model);
  const settings: ModelSettings = { model: first as string, ...config.settings };
  const counted = Object.keys(config.budget ?? {});
  const { instructions, prompt, context, history = {} } = config;
  const described = describeConfig({ instructions, prompt, context, history });
  const own = described.config as { readonly history: HistoryLimit } & Opening & Pick<AgentConfig, 'context'>;
  const run = async (ctx: NodeContext): Promise<unknown> => {
    const opened = files === undefined ? undefined : await openFiles(files, ctx);
    const answer = await traceAgent(ctx, { name: ctx.nodeId, model: settings.model }, (span) =>
      converse(ctx, openingOf(own, ctx), {
        settings,
        box,
        servers,
        allow,
        form,
        mode,
        loopsMax: maxLoops,
        history: own.history,
        steps: { ...calls, fallbacks, counted },
        context: typeof own.context === 'function' ? own.context(ctx) : own.context,
        span,
      }),
    );
    return opened === undefined ? answer : outcome({ output: answer, artifacts: opened.artifacts() });
  };
  const implementation = { run, codeText: `${described.codeText}\n${box.codeText}` };
  const { callsMax, description = typeof instructions === 'string' ? instructions : 'An agent.' } = config;
  agentTraits.set(implementation, { description, input: promptInput, ...(callsMax !== undefined && { callsMax }) });
  const data = {
    ...(described.data as object),
    settings: { ...settings, tools: box.offered, ...(form !== undefined && { schema: form.json }) },
    ...(servers.length > 0 && { servers: servers.map((server) => server.data) }),
    mode,
    maxLoops,
    allow,
  };
  const { budget, onBudget } = config;
  return {
    ...draftNode({ type: 'agent', effect: 'pure', config: data, implementation }, options),
    ...(budget !== undefined && { budget }),
    ...(onBudget !== undefined && { onBudget }),
  };
}

function namesOf(model: string | readonly string[]): readonly string[] {
  return typeof model === 'string' ? [model] : model;
}

function check(config: Pick<AgentConfig, 'model'> & AgentOptions): void {
  const names = namesOf(config.model);
  if (!Array.isArray(names) || names.length === 0 || !names.every((name) => typeof name === 'string' && name !== ''))
    refuse('model must be the name of a model, or several');
  checkAgentOptions(config, modeNames);
}

function refuse(reason: string): never {
  throw new CairnError('CONFIG_INVALID', { reason: `agent: ${reason}` });
}

/** Checks that the names of servers and tools do not clash. The servers' tools are not known yet, only the prefix of their names. */
function checkServers(servers: readonly McpTools[], names: readonly string[]): void {
  const known = new Set<string>();
  for (const { config } of servers) {
    const { server } = config;
    if (known.has(server)) refuse(`two MCP servers are named ${server}`);
    known.add(server);
    const taken = names.find((name) => name.startsWith(`${server}__`));
    if (taken !== undefined) refuse(`the tool ${taken} has a name that is for tools of the MCP server ${server}`);
  }
}

function checkAllow(allow: readonly string[] | true, names: readonly string[]): void {
  const unknown = allow === true ? undefined : allow.find((name) => !names.includes(name));
  if (unknown !== undefined) refuse(`allow names ${unknown}, which is none of its tools: ${names.join(', ')}`);
}
