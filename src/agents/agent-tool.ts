/** What an agent may use: functions with a schema of their arguments. Nodes, graphs and other agents are tools as they are. */
import { CairnError } from '../errors.ts';
import type { EffectClass, NodeContext, Reconciliation, RetryPolicy } from '../graph/contracts/node-contract.ts';
import type { SecretReader, FileAccess } from '../graph/contracts/context-access.ts';
import type { Graph } from '../graph/graph.ts';
import { refuseUnknownKeys } from '../nodes/draft/known-keys.ts';
import type { NodeDraft } from '../nodes/draft/node-draft.ts';
import { isStandardSchema, type AnySchema, type SchemaValue } from '../schema/standard-schema.ts';

/** What a tool's function is told of the call. */
export interface ToolCallContext {
  /** The same for every attempt of the call: hand it to the receiver, so that a repeated call is recognised (X1). */
  readonly idempotencyKey: string;
  readonly attempt: number;
  /** Aborted on cancel, timeout and lost claim. */
  readonly signal: AbortSignal;
  readonly secrets: SecretReader;
  readonly files: FileAccess;
  /** A live event of the agent's node: progress, a partial result. */
  readonly emit: (event: unknown) => void;
  /** The agent's node, as it stood when the attempt began. */
  readonly node: AgentNode;
}

/** What tools may know of the node that calls them. */
export type AgentNode = Pick<NodeContext, 'nodePath' | 'state' | 'signal' | 'files' | 'past' | 'retired' | 'emit'>;

/** When a person is asked before a call is made. */
export type Approval<Args> = 'always' | 'never' | ((args: Args) => boolean | Promise<boolean>);

interface ToolParts<Schema extends AnySchema> {
  /** What the model is told: what the tool does, and when to use it. */
  readonly description: string;
  /** Of the arguments, an object: JSON Schema, or a schema that can tell it (Zod 4.2 and later). */
  readonly input: Schema;
  /** Default: `always` for the classes `write` and `external`, unless the agent's `allow` names the tool; else `never`. */
  readonly approval?: Approval<SchemaValue<Schema>>;
  /** Calls with equal arguments take the first one's result, within one visit of the agent. Default false. */
  readonly cacheable?: boolean;
  /** How often it may be called in one visit of the agent; the model is told when there are no calls left. */
  readonly callsMax?: number;
  /** Images that it returns are shown to the model, which must be able to look at them. Default false: it is told their names. */
  readonly showsImages?: boolean;
  /** What a failure does: the model is told of it, or the agent fails. Default `tell`. */
  readonly onFailure?: 'tell' | 'fail';
}

/** A tool whose function is one step: it runs once, and what it returned is on record. */
export interface FunctionTool<Schema extends AnySchema = AnySchema> extends ToolParts<Schema> {
  readonly composed?: false;
  /** What recovery may do with a call. Default `external`. */
  readonly effect?: EffectClass;
  /** A repeated call with the same key has no second effect. Default false. */
  readonly idempotent?: boolean;
  readonly retry?: RetryPolicy;
  /** Of one attempt. */
  readonly timeoutMs?: number;
  /** Did the call under this key happen, and with what result? */
  readonly reconcile?: (asked: {
    readonly idempotencyKey: string;
    readonly args: SchemaValue<Schema>;
  }) => Promise<Reconciliation> | Reconciliation;
  readonly run: (args: SchemaValue<Schema>, call: ToolCallContext) => unknown;
}

/** A tool that asks, waits or has steps of its own. It is no step: its function is repeated, and its calls are on record. */
export interface ComposedTool<Schema extends AnySchema = AnySchema> extends ToolParts<Schema> {
  readonly composed: true;
  /** What its calls do at most: whether a person is asked before it. Default `pure`: its own calls ask where they must. */
  readonly effect?: EffectClass;
  readonly run: (args: SchemaValue<Schema>, ctx: NodeContext) => unknown;
}

/** A tool that runs a node or a graph as a child run: its arguments are the child's input, and its result is what the node gave, or the graph's artifacts. */
export interface NodeTool<Schema extends AnySchema = AnySchema> extends ToolParts<Schema> {
  readonly node: NodeDraft | Graph;
  /** Of a graph: the node whose output is the result. Default: its artifacts are. */
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
 * Makes a tool of a function; the types of its arguments follow from the schema.
 * @throws CONFIG_INVALID no description, no schema, no function, or an option that such a tool does not have
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
  return definition;
}

const isAct = (effect: EffectClass): boolean => effect === 'write' || effect === 'external';

/** Whether a call may change the world outside: itself, or by a node that it runs. What steps inside of a function do is not known here. */
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
