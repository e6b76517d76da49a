/** Tools of an agent: functions with a schema for their arguments. Nodes, graphs and other agents can be tools as they are. */
import { CairnError } from '../../errors.ts';
import type { EffectClass, NodeContext, Reconciliation } from '../../graph/contracts/node-contract.ts';
import type { RetryPolicy } from '../../graph/contracts/retry-policy.ts';
import type { SecretReader, FileAccess } from '../../graph/contracts/context-access.ts';
import type { Graph } from '../../graph/graph.ts';
import { refuseUnknownKeys } from '../../graph/known-keys.ts';
import { checkToolOptions } from './check-tool.ts';
import type { NodeDraft } from '../../nodes/draft/node-draft.ts';
import { isStandardSchema, type AnySchema, type SchemaValue } from '../../schema/standard-schema.ts';

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
}

/** What a tool may know about the node that calls it. */
export type AgentNode = Pick<NodeContext, 'nodePath' | 'state' | 'signal' | 'files' | 'past' | 'retired' | 'emit'>;

/** When to ask a person before a call. */
export type Approval<Args> = 'always' | 'never' | ((args: Args) => boolean | Promise<boolean>);

interface ToolParts<Schema extends AnySchema> {
  /** What the model is told about the tool: what it does and when to use it. */
  readonly description: string;
  /** Schema of the arguments, which are an object: JSON Schema, or a schema library that can produce it (Zod 4.2 and later). */
  readonly input: Schema;
  /**
   * When to ask a person. Default: `always` for the classes `write` and `external`, unless the agent's `allow` names the tool; else
   * `never`.
   */
  readonly approval?: Approval<SchemaValue<Schema>>;
  /** Whether a call gets the result of an earlier call with equal arguments in the same visit of the agent. Default false. */
  readonly cacheable?: boolean;
  /** The most calls in one visit of the agent. When they are used up, the model is told. */
  readonly callsMax?: number;
  /** Whether images that the tool returns are shown to the model. The model must accept images. Default false: it is told their names. */
  readonly showsImages?: boolean;
  /** What a failure does. `tell` (default): the model is told about it. `fail`: the agent fails. */
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
  /** Finds out whether the call with this key happened, and its result. */
  readonly reconcile?: (asked: {
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
 * A tool that runs a node or a graph as a child run. The arguments are the child's input. The result is the node's output, or the graph's
 * artifacts.
 */
export interface NodeTool<Schema extends AnySchema = AnySchema> extends ToolParts<Schema> {
  readonly node: NodeDraft | Graph;
  /** For a graph: id of the node whose output is the result. Default: the graph's artifacts are the result. */
  readonly result?: string;
}

const sharedKeys = [
  'description',
  'input',
  'approval',
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
  'reconcile',
] as const satisfies readonly (keyof FunctionTool)[];
const composedKeys = [...sharedKeys, 'run', 'composed', 'effect'] as const satisfies readonly (keyof ComposedTool)[];
const nodeKeys = [...sharedKeys, 'node', 'result'] as const satisfies readonly (keyof NodeTool)[];

export type AgentTool<Schema extends AnySchema = AnySchema> =
  FunctionTool<Schema> | ComposedTool<Schema> | NodeTool<Schema>;

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
  return definition;
}

const isAct = (effect: EffectClass): boolean => effect === 'write' || effect === 'external';

/**
 * Whether a call may change the outside world, either directly or through the node that it runs. Steps inside a composed tool's function
 * are not known here.
 */
export function actsOutside(definition: AgentTool): boolean {
  if ('run' in definition) return isAct(definition.effect ?? (definition.composed === true ? 'pure' : 'external'));
  return 'nodeIndex' in definition.node ? hasActs(definition.node) : isActing(definition.node);
}

const hasActs = ({ nodes }: Graph): boolean => nodes.some(isActing);

function isActing({
  effect,
  subgraph,
}: {
  readonly effect: EffectClass;
  readonly subgraph?: Graph | undefined;
}): boolean {
  return isAct(effect) || (subgraph !== undefined && hasActs(subgraph));
}
