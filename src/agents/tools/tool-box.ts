/** The tools of one agent by name: its description for the model, and what a call runs. */
import { graphOf, type GraphOrRunnable } from '../../graph/runnable-graph.ts';
import { isDeepStrictEqual } from 'node:util';
import type { AnsweredQuestion } from '../mcp/server-questions.ts';
import { withoutDefaults } from '../../schema/schema-defaults.ts';
import { CairnError } from '../../errors.ts';
import type {
  InnerWork,
  EffectClass,
  NodeContext,
  Question,
  Reconciliation,
  StepContext,
  NodeImplementation,
} from '../../graph/contracts/node-contract.ts';
import type { RetryPolicy } from '../../graph/contracts/retry-policy.ts';
import type { SecretReader, FileAccess } from '../../graph/contracts/access.ts';
import type { ModelTool, ProviderTool } from '../../graph/contracts/model-messages.ts';
import {
  asInnerWork,
  isAct,
  strengthOfGraph,
  strengthOfNode,
  strengthOfWork,
  type Strength,
} from '../../graph/effect-strength.ts';
import type { LimitRef } from '../../graph/limit.ts';
import { type Graph, END, START } from '../../graph/graph.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { checkToolOptions } from './check-tool.ts';
import type { NodeDraft } from '../../nodes/draft/node-draft.ts';
import { isStandardSchema, type AnySchema, type SchemaValue, jsonSchemaOf } from '../../schema/standard-schema.ts';
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { compileGraph } from '../../graph/compile/compile-graph.ts';
import type { SavedOffer } from '../turn-note.ts';

// Tools of an agent: functions with a schema for their arguments. Nodes, graphs and other agents can be tools as they are.

/** The second argument of a tool's function. */
export interface ToolCallContext {
  /** The same for every attempt of the call. Pass it on, so that the receiver recognises a repeated call (X1). */
  readonly idempotencyKey: string;
  readonly attempt: number;
  /** Aborted on cancel and timeout, and when the claim is lost. */
  readonly signal: AbortSignal;
  readonly secrets: SecretReader;
  readonly files: FileAccess;
  /** Sends a live event of the agent's node, such as progress or a partial result. */
  readonly emit: (event: unknown) => void;
  /** The agent's node as it was when the attempt began. */
  readonly node: AgentNode;
  /** What a person answered to what the tool's server asked in this call: see `ServerQuestion`. */
  readonly answered?: readonly AnsweredQuestion[];
}

/** What a tool may know about the node that calls it. */
export type AgentNode = Pick<NodeContext, 'nodePath' | 'state' | 'signal' | 'files' | 'past' | 'retired' | 'emit'>;

/** When to ask a person before a call. */
export type ApprovalPolicy<Args> = 'always' | 'never' | ((args: Args) => boolean | Promise<boolean>);

interface ToolParts<Schema extends AnySchema> {
  /** The description for the model: what the tool does and when to use it. */
  readonly description: string;
  /** Schema of the arguments, which are an object: JSON Schema, or a schema library that can produce it (Zod 4.2 and later). */
  readonly input: Schema;
  /**
   * When to ask a person. Default: `always` for the classes `write` and `external`, unless the agent's `allow` names the tool; else
   * `never`.
   */
  readonly approval?: ApprovalPolicy<SchemaValue<Schema>>;
  /** Whom to ask: `staff` (default), or the `user` whose request the run is. */
  readonly audience?: Question['audience'];
  /** Whether a call gets the result of an earlier call with equal arguments in the same visit of the agent. Default false. */
  readonly cacheable?: boolean;
  /** The most calls in one visit of the agent. When they are used up, the result of a call says so. */
  readonly callsMax?: number;
  /** Whether images that the tool returns are shown to the model. The model must accept images. Default false: it gets their names. */
  readonly showsImages?: boolean;
  /** What a failure does. `tell` (default): it is the call's result for the model. `fail`: the agent fails. */
  readonly onFailure?: 'tell' | 'fail';
}

/** A tool whose function runs as one step: it runs once, and its result is recorded. */
export interface FunctionTool<Schema extends AnySchema = AnySchema> extends ToolParts<Schema> {
  readonly composed?: false;
  /** Effect class of a call: what recovery may do with it. Default `external`. */
  readonly effect?: EffectClass;
  /** Whether a repeated call with the same key has no second effect. Default false. */
  readonly idempotent?: boolean;
  readonly retry?: RetryPolicy;
  /** Timeout of one attempt in milliseconds. */
  readonly timeoutMs?: number;
  /** Limits over all workers. A call waits for its places before it is announced; `timeoutMs` counts from then. */
  readonly limit?: LimitRef | readonly LimitRef[];
  /** Finds out whether the call with this key happened, and its result. */
  readonly reconcile?: (context: {
    readonly idempotencyKey: string;
    readonly args: SchemaValue<Schema>;
  }) => Promise<Reconciliation> | Reconciliation;
  readonly run: (args: SchemaValue<Schema>, call: ToolCallContext) => unknown;
}

/**
 * A tool that asks questions, waits, or has steps of its own. Its function is not a step: it is repeated on resume, and the calls that it
 * makes are recorded.
 */
export interface ComposedTool<Schema extends AnySchema = AnySchema> extends ToolParts<Schema> {
  readonly composed: true;
  /**
   * The strongest effect class of the calls inside. It decides whether a person is asked before the tool runs. Default `pure`: the calls
   * inside ask where they must.
   */
  readonly effect?: EffectClass;
  readonly run: (args: SchemaValue<Schema>, ctx: NodeContext) => unknown;
}

/**
 * A tool that runs a node or a graph as a child run. The arguments are the child's input. The result is the node's output, or what the graph gives
 * as a whole: what a workflow returns, the outputs of a flow's nodes, of a workflow read from a text its outputs; of any other its artifacts.
 */
export interface NodeTool<Schema extends AnySchema = AnySchema> extends ToolParts<Schema> {
  readonly node: NodeDraft | GraphOrRunnable<never, unknown>;
  /** For a graph: id of the node whose output is the result. Default: what the graph gives as a whole. */
  readonly result?: string;
}

const sharedKeys = [
  'description',
  'input',
  'approval',
  'audience',
  'cacheable',
  'callsMax',
  'onFailure',
  'showsImages',
] as const satisfies readonly (keyof NodeTool)[];
const functionKeys = [
  ...sharedKeys,
  'run',
  'composed',
  'effect',
  'idempotent',
  'retry',
  'timeoutMs',
  'limit',
  'reconcile',
] as const satisfies readonly (keyof FunctionTool)[];
const composedKeys = [...sharedKeys, 'run', 'composed', 'effect'] as const satisfies readonly (keyof ComposedTool)[];
const nodeKeys = [...sharedKeys, 'node', 'result'] as const satisfies readonly (keyof NodeTool)[];

export type AgentTool<Schema extends AnySchema = AnySchema> =
  | FunctionTool<Schema>
  | ComposedTool<Schema>
  | NodeTool<Schema>;

/**
 * Makes a tool of a function. The type of its arguments follows from the schema.
 * @throws CONFIG_INVALID the description, schema or function is missing, or the tool does not have this option
 */
export function tool<Schema extends AnySchema>(definition: FunctionTool<Schema>): FunctionTool;
export function tool<Schema extends AnySchema>(definition: ComposedTool<Schema>): ComposedTool;
export function tool<Schema extends AnySchema>(definition: NodeTool<Schema>): NodeTool;
export function tool<Schema extends AnySchema>(definition: AgentTool<Schema>): AgentTool {
  const refuse = (reason: string): never => {
    throw new CairnError('CONFIG_INVALID', { reason: `tool: ${reason}` });
  };
  const { run, node, composed } = (definition ?? {}) as {
    readonly run?: unknown;
    readonly node?: unknown;
    readonly composed?: unknown;
  };
  refuseUnknownKeys(
    'tool',
    definition,
    node !== undefined ? nodeKeys : composed === true ? composedKeys : functionKeys,
  );
  const { description, input } = definition;
  if (typeof description !== 'string' || description === '') refuse('it needs a description, which the model reads');
  if (!isStandardSchema(input) && (typeof input !== 'object' || input === null))
    refuse('it needs a schema as its input');
  if ((typeof run === 'function') === (typeof node === 'object')) refuse('it needs a function `run`, or a `node`');
  checkToolOptions('tool', definition);
  // What builds a graph is built once.
  const own = graphOf(node);
  return own === undefined ? definition : ({ ...definition, node: own } as NodeTool<Schema>);
}

/**
 * How strong a call is: the function, or all that the node or graph may do, agents in it included. Steps inside a composed tool's function
 * are not known here.
 */
export function strengthOfTool(definition: AgentTool): Strength {
  if ('run' in definition) {
    const known = isComposed(definition) ? workInTools.get(definition.run) : undefined;
    return strengthOfWork(known ?? { effect: declaredEffect(definition) });
  }
  const { node } = definition;
  const graph = graphOf(node);
  return graph === undefined ? strengthOfNode(node as NodeDraft) : strengthOfGraph(graph);
}

export function isComposed(definition: AgentTool): definition is ComposedTool {
  return 'composed' in definition && (definition.composed ?? false);
}

const declaredEffect = ({ effect, composed }: FunctionTool | ComposedTool): EffectClass =>
  effect ?? (composed === true ? 'pure' : 'external');

/** What the calls do that a composed tool of this package makes, and whether they ask before, by the tool's function. */
export const workInTools: WeakMap<ComposedTool['run'], InnerWork> = new WeakMap<ComposedTool['run'], InnerWork>();

/** Whether a call by itself may change the outside world. Those that a composed tool makes tell of their own ends. */
export const actsOutside = (definition: AgentTool): boolean =>
  isAct('run' in definition ? declaredEffect(definition) : strengthOfTool(definition).effect);

/**
 * Whether a person is asked before a call, where its `approval` does not say: it does something that acts, without asking by itself, and
 * the agent's `allow` does not name it.
 */
export const asksByDefault = (
  { name, definition }: Pick<NamedTool, 'name' | 'definition'>,
  allow: readonly string[] | true,
): boolean => isAct(strengthOfTool(definition).unasked) && allow !== true && !allow.includes(name);

/** The tools of a box, each with the strongest effect class of its calls. Of tools that a provider runs, the provider alone knows. */
export function toolClasses(box: ToolBox, allow: readonly string[] | true): readonly ToolClass[] {
  const own = box.names.map((name): ToolClass => {
    const { definition } = box.find(name) as NamedTool;
    const { approval = asksByDefault({ name, definition }, allow) ? 'always' : 'never' } = definition;
    const { effect, asks = false } = asInnerWork(strengthOfTool(definition));
    const isAsked = asks || (approval !== 'never' && typeof approval !== 'function');
    return { name, definition, effect, asks: isAsked, isAllowed: !isAsked };
  });
  const others = box.offered.filter((tool) => 'providerTool' in tool);
  return [...own, ...others.map(({ name }): ToolClass => ({ name, effect: 'external', asks: false, isAllowed: true }))];
}

// Makes the second argument of a tool's function.

/** @param step - the step in which the call is made */
export function callContext(
  ctx: NodeContext,
  { idempotencyKey, attempt, signal }: Pick<StepContext, 'idempotencyKey' | 'attempt' | 'signal'>,
): ToolCallContext {
  const { secrets, files } = ctx;
  return { idempotencyKey, attempt, signal, secrets, files, emit: (event) => ctx.emit(event), node: ctx };
}

// What agents declare to other agents that use them as tools. Found by the implementation of the agent's node.

export interface AgentTraits {
  readonly description: string;
  readonly input: JsonSchema;
  /** Its tools, with the strongest effect class of a call of each. */
  readonly tools: readonly ToolClass[];
  readonly callsMax?: number;
}

/** A tool's name, and what a call of it does. */
export interface ToolClass {
  readonly name: string;
  readonly effect: EffectClass;
  /** Whether a person is asked before it acts: about the call, or in it. */
  readonly asks: boolean;
  /** Whether the agent may call it without asking. */
  readonly isAllowed: boolean;
  readonly definition?: AgentTool;
}

export const agentTraits: WeakMap<NodeImplementation, AgentTraits> = new WeakMap<NodeImplementation, AgentTraits>();

/** What may be passed as a tool: a tool, another agent, or a tool run by the provider. */
export type ToolEntry = AgentTool | NodeDraft | ProviderTool;

/** A tool with its name. */
export interface NamedTool {
  readonly name: string;
  readonly definition: AgentTool;
  /** JSON Schema of the arguments. */
  readonly inputSchema: JsonSchema;
  /** Graph that the tool runs; undefined for functions. */
  readonly graph: Graph | undefined;
  /** Id of the node whose output is the result, or of some; undefined if the graph's artifacts are the result. */
  readonly nodeId: string | readonly string[] | undefined;
}

/** The tools offered to the model at the moment. */
export interface ToolOffer {
  /** In the order in which they were passed. The list is the same object until something changes. */
  readonly offered: readonly (ModelTool | ProviderTool)[];
  find(name: string): NamedTool | undefined;
  readonly names: readonly string[];
  /**
   * Checks for changed tools. Called before each request, and before the calls of each answer.
   * @param place - number of the model's answers so far
   * @param isCaughtUp - whether every recorded answer was used
   */
  check?(place: number, isCaughtUp: boolean): Promise<void>;
  /** What a repeated function needs to offer the same tools after their records were retired. */
  keep?(): SavedOffer;
}

/** The tools of an agent. */
export interface ToolBox extends ToolOffer {
  /** The tools' code, as text to hash. */
  readonly codeText: string;
}

/** Names that models accept for tools. */
const namePattern = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/u;

/** @throws CONFIG_INVALID a name that models do not accept, or a value that is not a tool */
export function createToolBox(tools: Readonly<Record<string, ToolEntry>>): ToolBox {
  const named = new Map<string, NamedTool>();
  const offered: (ModelTool | ProviderTool)[] = [];
  for (const [name, entry] of Object.entries(tools)) {
    if (!namePattern.test(name))
      throw new CairnError('CONFIG_INVALID', {
        reason: `agent: tool ${JSON.stringify(name)}: models know tools by letters, digits, _ and -, 64 at most`,
      });
    if (typeof entry !== 'object' || entry === null) throw noTool(name);
    if ('providerTool' in entry) {
      offered.push({ ...entry, name });
      continue;
    }
    const definition = definitionOf(name, entry);
    const inputSchema = schemaOf(name, definition);
    named.set(name, { name, definition, inputSchema, ...targetOf(name, definition) });
    offered.push({ name, description: definition.description, inputSchema });
  }
  return {
    offered,
    names: [...named.keys()],
    find: (name) => named.get(name),
    codeText: [...named.values()]
      .map(({ definition }) => ('run' in definition ? String(definition.run) : ''))
      .join('\n'),
  };
}

/** The JSON Schema of the arguments. A default that is another each time, as a new id is, is none that a model could be told. */
function schemaOf(name: string, { input }: AgentTool): JsonSchema {
  const read = (): JsonSchema => jsonSchemaOf(input, 'input', `tool ${name}: input`);
  const schema = read();
  const isFixed = !JSON.stringify(schema).includes('"default":') || isDeepStrictEqual(schema, read());
  return isFixed ? schema : (withoutDefaults(schema) as JsonSchema);
}

function definitionOf(name: string, entry: AgentTool | NodeDraft): AgentTool {
  if ('description' in entry) {
    if (!('run' in entry) && !('node' in entry)) throw noTool(name);
    // A tool may be a changed copy of another, which nobody has checked.
    checkToolOptions(`agent: tool ${name}`, entry);
    return entry;
  }
  const traits = 'implementation' in entry ? agentTraits.get(entry.implementation) : undefined;
  if (traits === undefined) throw noTool(name);
  const { tools: _, ...described } = traits;
  return { ...described, node: entry };
}

function noTool(name: string): CairnError {
  return new CairnError('CONFIG_INVALID', {
    reason: `agent: tool ${name} is no tool: make one with tool({ description, input, run }), or tool({ description, input, node })`,
  });
}

function targetOf(name: string, definition: AgentTool): Pick<NamedTool, 'graph' | 'nodeId'> {
  if (!('node' in definition)) return { graph: undefined, nodeId: undefined };
  const own = graphOf(definition.node);
  if (own !== undefined) return { graph: own, nodeId: definition.result ?? own.result };
  const graph = compileGraph({
    id: name,
    nodes: [{ id: name, ...(definition.node as NodeDraft) }],
    edges: [
      { from: START, to: name },
      { from: name, to: END },
    ],
  });
  return { graph, nodeId: name };
}
