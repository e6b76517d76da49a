/** The graph model: what a workflow is. Plain data plus the functions of its nodes (G1, G2). */
import type { MemoryConsistency } from './contracts/memory-consistency.ts';
import type { Amounts, AtMost } from './amounts.ts';
import type { EffectClass, NodeImplementation, StateView } from './contracts/node-contract.ts';
import type { RetryPolicy } from './contracts/retry-policy.ts';
import type { StandardSchema } from './contracts/answer-types.ts';
import type { LimitRef } from './limit.ts';
import type { RunTitle } from './run-title.ts';
import type { Webhook } from './webhooks.ts';

export type { StandardResult, StandardSchema } from './contracts/answer-types.ts';

/** Id of the node where every graph starts. It has no incoming edges and does no work. */
export const START = '__start__';
/** Id of the node where branches end. An edge to it ends its branch and stops no other branch (G10). */
export const END = '__end__';

/** What a condition receives: how the activation before the edge settled, and the state after it. */
export interface ConditionScope {
  readonly outcome: {
    readonly status: 'completed' | 'failed';
    readonly output: unknown;
    readonly error: Error | undefined;
  };
  readonly state: StateView;
}

/** A pure predicate. `text` and `version` are part of the graph's hash; `evaluate` is code. */
export interface Condition {
  /** The expression, or the name of the function. */
  readonly text: string;
  readonly version?: string;
  readonly evaluate: (scope: ConditionScope) => boolean;
}

/** A pure function that picks edges. Several edges share one choice, and those whose label it returns fire. */
export interface Choice {
  readonly text: string;
  readonly version?: string;
  /** Returns labels of the edges that share this choice. */
  readonly choose: (scope: ConditionScope) => string | readonly string[];
}

/** A dialect's explanation of one edge whose choice it compiled. */
export interface ExplainedWay {
  /** Label of the edge. */
  readonly label: string;
  /** Name of the edge for people. Absent if that is its target. */
  readonly caption?: string;
  /** The condition as it was written. */
  readonly condition?: string;
  /** The result of the condition. Absent if there is none. */
  readonly holds?: boolean;
  /** Why the edge was taken or not, in words. */
  readonly because: string;
}

/**
 * Explains a choice from its recorded text. Returns undefined if the choice is a function of a program.
 * @param config - the config of the node that the edges leave
 */
export type ChoiceExplainer = (
  text: string,
  scope: ConditionScope,
  config: unknown,
) => readonly ExplainedWay[] | undefined;

export interface EdgeDefinition {
  readonly from: string;
  readonly to: string;
  /** How the source must settle for the edge to fire. Default `completed`. */
  readonly on?: 'completed' | 'failed' | 'any';
  readonly condition?: Condition;
  readonly choice?: Choice;
  /** Name of the edge for choices and `goto`. Default: the id of its target. */
  readonly label?: string;
  readonly weight?: number;
  /** The edge fires however its source settled, also when it failed or was skipped (G3). */
  readonly always?: boolean;
  /** Where the edge was written, for messages: `file:line`. */
  readonly place?: string;
}

export type Join = 'some' | 'all' | { readonly first: number; readonly cancelRest?: boolean };
export type OnBudget = 'ask' | 'fail';
/**
 * What an unhandled failure does. `fail-run`: nothing more starts, and the run fails. `fail-last`: what does not depend on the node goes on
 * to its end, questions too, and then the run fails. `skip-dependents`: none of the node's edges fires. `continue`: they fire as if it had
 * completed.
 */
export type OnFailure = 'fail-run' | 'fail-last' | 'skip-dependents' | 'continue';
export type NodeCheckpoint = 'before' | 'after' | 'both' | 'none';

/** Names that a node has in the code, and others on record: see {@link GraphDefinition.renamed}. No part of the graph's hash. */
export interface NamesInCode {
  readonly node: string;
  /** What the code calls `outputAs`. */
  readonly outputAs?: string;
  /** Recorded names of steps, by their names in the code. */
  readonly steps: ReadonlyMap<string, string>;
}

export interface NodeDefinition {
  readonly id: string;
  /** Name of the node type: `function`, `shell`, `human`, … */
  readonly type: string;
  /** The author's version of the node's code; part of the graph's hash. Default `1`. */
  readonly version?: string;
  /** The node's settings: plain data, part of the graph's hash. */
  readonly config?: unknown;
  readonly effect: EffectClass;
  /** False if the author did not declare the effect class, so that it is the default. No part of the graph's hash. */
  readonly isDeclared?: false;
  /** Channels that the node reads: `scratch.messages`, `outputs.draft`, `input.topic`. Default: the channels that it is seen to read. */
  readonly reads?: readonly string[];
  readonly when?: Condition;
  readonly join?: Join;
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
  readonly onFailure?: OnFailure;
  readonly checkpoint?: NodeCheckpoint;
  readonly idempotent?: boolean;
  /** What happens to an effect in doubt if nothing else decides: a person is asked (default), or the node fails with EFFECT_IN_DOUBT. */
  readonly onInDoubt?: 'ask' | 'fail';
  /** What each visit may spend, by unit. Default: no limit except the run's. */
  readonly budget?: Amounts;
  /**
   * What happens to an attempt that would start after the budget is spent: a person is asked (default), or it fails with BUDGET_EXCEEDED.
   */
  readonly onBudget?: OnBudget;
  /** The most that one attempt spends, by unit. It is reserved before the attempt starts, so the budget is never exceeded. */
  readonly atMost?: AtMost;
  /** How the node remembers over sessions (A43). Default: as the graph says. */
  readonly memoryConsistency?: MemoryConsistency;
  /** The limits that each attempt is under, over all workers. It waits for its places before it begins. Not part of the hash. */
  readonly limit?: LimitRef | readonly LimitRef[];
  readonly maxVisits?: number;
  /** The name of `maxVisits` where the workflow was written, for messages. */
  readonly maxVisitsName?: string;
  /** Name under which `state.artifacts` shows the node's output. */
  readonly outputAs?: string;
  /** Channels to which the node appends, such as `scratch.chat`: they have the reducer `append`, unless the graph names one of its own. */
  readonly appends?: readonly string[];
  /**
   * Values and functions that the node's function takes from around it: they count as its code, as the source of the function itself does.
   * `{ PROMPT }`: plain data, or functions, which count by their source.
   */
  readonly uses?: Readonly<Record<string, unknown>>;
  /** What the code calls the node, its output among the artifacts, and its steps, where that is not what runs have on record (G15). */
  readonly inCode?: NamesInCode;
  /** Child graph of a subgraph or map node; part of the graph's hash. */
  readonly subgraph?: Graph;
  readonly implementation: NodeImplementation;
  readonly place?: string;
}

/** A reducer: the name of a built-in one, or a pure function with a name and version. The built-in ones: docs/spec/state.md. */
export type ReducerName = 'last' | 'first' | 'append' | 'merge' | 'union' | 'sum' | 'min' | 'max' | 'avg' | 'longest';
export type CustomReducer = (current: unknown, update: unknown) => unknown;
export type Reducer =
  | ReducerName
  | { readonly name: string; readonly version?: string; readonly reduce: CustomReducer };

export interface GraphSchemas {
  readonly input?: StandardSchema;
  readonly scratch?: StandardSchema;
  readonly artifacts?: StandardSchema;
}

export type CheckpointPolicy = 'every_node' | 'explicit' | 'none';

export interface GraphPolicies {
  /**
   * Which of a node's edges fire. `all` (default): every edge whose condition holds. `first`: at most one, the first by weight (highest
   * first), then by declaration (G5).
   */
  readonly routing: 'all' | 'first';
  /** Which activations get a checkpoint of their own. Default `every_node`. */
  readonly checkpoint: CheckpointPolicy;
  /** How many activations and map items may run at once. Default 64. */
  readonly concurrency: number;
  /** How often each node may be visited in a run or child run. Default 1,000. */
  readonly maxVisits: number;
  /** When commits become durable (E4). Default `barrier`. */
  readonly durability: 'barrier' | 'exit';
  /**
   * The most bytes that one outcome may add to a run, encoded, with its blobs. A larger one fails with CHECKPOINT_TOO_LARGE. Default: no
   * limit set by the graph.
   */
  readonly checkpointBytes?: number;
  /** How nodes remember over sessions (A43). Default: as their memory says. */
  readonly memoryConsistency?: MemoryConsistency;
  /** The limits that each run is under, over all workers. Not part of the hash. */
  readonly limit?: LimitRef | readonly LimitRef[];
  /** What a run may spend, by unit. The options of a start override it; a resume can raise it. Default: no limit. */
  readonly budget?: Amounts;
  /**
   * What happens to an attempt that would start after the budget is spent: a person is asked (default), or it fails with BUDGET_EXCEEDED.
   */
  readonly onBudget?: OnBudget;
  /**
   * Id of a node that no edge leads to or from. After a cancel it runs once, when what was under way has ended, to undo what the run has
   * done outside (E7.4). Without a `timeoutMs` of its own it has 10 minutes.
   */
  readonly onCancel?: string;
  /**
   * Id of a node that no edge leads to or from. When the run has failed and nothing is left to try it runs once, before the run stands failed
   * (E7.5). Without a `timeoutMs` of its own it has 10 minutes.
   */
  readonly onRunFailure?: string;
  /** How long a run may take from its admission on, in ms (E6.10). Default: for ever. */
  readonly timeLimit?: TimeLimit;
  /** Makes the title of a run from its input (E2.6). Not part of the hash. Default: none. */
  readonly title?: RunTitle;
}

/** Whether a node is one that follows a cancel or a failure of the run, so that no edge leads to it. */
export const isFollowUp = (
  { onCancel, onRunFailure }: Pick<GraphPolicies, 'onCancel' | 'onRunFailure'>,
  id: unknown,
): boolean => id !== undefined && (id === onCancel || id === onRunFailure);

/** A time in ms, or one that does not count while the run is paused: `{ ms, countsWaits: false }`. */
export type TimeLimit = number | { readonly ms: number; readonly countsWaits?: boolean };

/** A step by which the state of a run is brought to the form of newer code (H3). */
export interface Migration {
  /** The version of the state that it makes. New runs have the highest; a run of before there were any has 1. */
  readonly to: number;
  /**
   * A pure function of the channels (`scratch`, `artifacts`, `diagnostics`). It returns the partitions that are other ones afterwards, each
   * as a whole.
   */
  readonly up: (state: Readonly<Record<string, unknown>>) => Record<string, unknown>;
}

/** What {@link compileGraph} takes. */
export interface GraphDefinition {
  readonly id: string;
  readonly nodes: readonly NodeDefinition[];
  /** The edges. The targets of edges from START are the entry nodes. */
  readonly edges: readonly EdgeDefinition[];
  /** Reducers by dotted path: `scratch.messages`, `artifacts.stats.count`. */
  readonly reducers?: Readonly<Record<string, Reducer>>;
  readonly schemas?: GraphSchemas;
  readonly policies?: Partial<GraphPolicies>;
  /** The source text, if the graph can be compiled again from it alone; it is recorded with each run (H3). Not part of the hash. */
  readonly text?: string;
  /**
   * What a run of the graph gives as a whole: the output of this node, or those of these nodes by their names, as far as they completed.
   * Default: its artifacts. Not part of the hash.
   */
  readonly result?: string | readonly string[];
  /**
   * Nodes and steps that the definition names otherwise than runs have them on record: `{ quote: 'price' }` for a node, `{ 'sell/charge
   * card': 'charge' }` for a step of it. The graph, its hash and the history have the recorded name; functions and views the new one (G15).
   */
  readonly renamed?: Readonly<Record<string, string>>;
  /** What the ends of its runs and their questions are told to. No part of the hash. */
  readonly webhooks?: readonly Webhook[];
  /** How the state of older runs is brought to the form of this code, by rising versions. No part of the hash (H3). */
  readonly migrations?: readonly Migration[];
  /** The author's name of this code, such as a commit: workers are told apart by it, and another one is other code (O3.2.3). */
  readonly version?: string;
}

/** A compiled edge. */
export interface GraphEdge {
  /** Position in `Graph.edges`. */
  readonly index: number;
  /** Name of the edge among those of its source, used in node records: the target's id, with `#2`, `#3` … added for parallel edges. */
  readonly key: string;
  readonly from: number;
  readonly to: number;
  readonly on: 'completed' | 'failed' | 'any';
  readonly condition: Condition | undefined;
  readonly choice: Choice | undefined;
  readonly label: string;
  readonly weight: number;
  readonly always: boolean;
  /** Whether the edge leads back and so closes a cycle (G4, G11). */
  readonly leadsBack: boolean;
  /** For a back edge: index of the loop whose head it leads to (G4). */
  readonly backOf: number | undefined;
  /** Index of the outermost loop that this edge leaves. The edge settles when that loop is done. */
  readonly exitOf: number | undefined;
}

/** A compiled node: its definition with every default filled in. */
export interface GraphNode {
  readonly index: number;
  readonly id: string;
  readonly type: string;
  readonly version: string;
  readonly config: unknown;
  readonly effect: EffectClass;
  readonly isDeclared?: false;
  readonly reads: readonly string[] | undefined;
  readonly when: Condition | undefined;
  readonly join: Join;
  readonly retry: RetryPolicy | undefined;
  readonly timeoutMs: number | undefined;
  readonly onFailure: OnFailure;
  readonly checkpoint: NodeCheckpoint | undefined;
  readonly idempotent: boolean;
  readonly onInDoubt: 'ask' | 'fail';
  readonly budget: Amounts | undefined;
  readonly onBudget: OnBudget;
  readonly atMost: AtMost | undefined;
  readonly memoryConsistency: MemoryConsistency | undefined;
  readonly limit: LimitRef | readonly LimitRef[] | undefined;
  readonly maxVisits: number;
  readonly maxVisitsName: string;
  readonly outputAs: string | undefined;
  readonly uses: Readonly<Record<string, unknown>> | undefined;
  readonly inCode: NamesInCode | undefined;
  readonly subgraph: Graph | undefined;
  readonly implementation: NodeImplementation;
  /**
   * Hash of type, version, config and subgraph, in base64url. It is the part of an activation's input hash that comes from the definition.
   */
  readonly definitionHash: string;
  /** Indices of the loops the node is in, outermost first. */
  readonly loops: readonly number[];
  readonly outgoing: readonly GraphEdge[];
  readonly incoming: readonly GraphEdge[];
}

export interface Loop {
  readonly index: number;
  /** Stable name: the sorted ids of the loop's heads, joined by `,`. */
  readonly id: string;
  readonly nodes: readonly number[];
  readonly heads: readonly number[];
  readonly parent: number | undefined;
  readonly children: readonly number[];
}

export interface Violation {
  /** Id of the rule that is violated, as in docs/spec/graph.md. */
  readonly rule: string;
  readonly severity: 'error' | 'warning';
  /** Where: `file:line`, or the path of the node or edge. */
  readonly place: string;
  readonly message: string;
  readonly fix: string;
}

/** An immutable compiled workflow. `nodes[0]` is START, `nodes[1]` is END. */
export interface Graph {
  readonly id: string;
  /** Hash of all data in the graph; the same on every machine. */
  readonly hash: string;
  readonly version?: string;
  /** Hash of the functions' source; only a hint that code changed. */
  readonly codeHash: string;
  /** The same for each node by itself, by its id. */
  readonly nodeCode: Readonly<Record<string, string>>;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly nodeIndex: ReadonlyMap<string, number>;
  /** Empty if the graph holds one token. */
  readonly loops: readonly Loop[];
  /** Whether no two of its nodes are ever due at once: its runs are planned without loops and joins (G11). */
  readonly holdsOneToken: boolean;
  readonly reducers: Readonly<Record<string, Reducer>>;
  readonly schemas: GraphSchemas;
  readonly policies: GraphPolicies;
  readonly warnings: readonly Violation[];
  /** The source text: see {@link GraphDefinition.text}. */
  readonly text: string | undefined;
  /** What a run gives: see {@link GraphDefinition.result}. */
  readonly result?: string | readonly string[];
  /** See {@link GraphDefinition.webhooks}. */
  readonly webhooks?: readonly Webhook[];
  /** See {@link GraphDefinition.migrations}. */
  readonly migrations: readonly Migration[];
  /** Everything the hash covers, as plain data. Stored with a run, and compared when it is resumed (H3). */
  readonly structure: GraphStructure;
}

/** A graph's data in the form that is stored. */
export interface GraphStructure {
  readonly id: string;
  readonly nodes: readonly Readonly<Record<string, unknown>>[];
  readonly edges: readonly Readonly<Record<string, unknown>>[];
  readonly reducers: Readonly<Record<string, string>>;
  readonly schemas: Readonly<Record<string, unknown>>;
  readonly policies: GraphPolicies;
  /** `nodeCode` of the graph. It is stored beside the structure, and no part of what is hashed. */
  readonly nodeCode?: Readonly<Record<string, string>>;
}
