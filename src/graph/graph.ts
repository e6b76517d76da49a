/** The graph model: WHAT a workflow is. Plain data plus node functions (G1, G2). */
import type { Amounts, AtMost } from './amounts.ts';
import type { EffectClass, NodeImplementation, RetryPolicy, StateView } from './contracts/node-contract.ts';

/** The node every graph starts at; it has no incoming edges and no work. */
export const START = '__start__';
/** The sink: an edge into it says that a branch is over. It stops no sibling (G10). */
export const END = '__end__';

/** What a condition reads: how the activation settled, and the state after it. */
export interface ConditionScope {
  readonly outcome: {
    readonly status: 'completed' | 'failed';
    readonly output: unknown;
    readonly error: Error | undefined;
  };
  readonly state: StateView;
}

/** A pure predicate. `text` and `version` are hashed; `evaluate` is code. */
export interface Condition {
  /** The expression, or the name of the function. */
  readonly text: string;
  readonly version?: string;
  readonly evaluate: (scope: ConditionScope) => boolean;
}

/** A pure function that names targets; the edges that share it fire if their target is named. */
export interface Choice {
  readonly text: string;
  readonly version?: string;
  /** Returns labels of edges of this choice. */
  readonly choose: (scope: ConditionScope) => string | readonly string[];
}

export interface EdgeDefinition {
  readonly from: string;
  readonly to: string;
  /** Which settling lets the edge fire. Default `completed`. */
  readonly on?: 'completed' | 'failed' | 'any';
  readonly condition?: Condition;
  readonly choice?: Choice;
  /** The name a choice (or goto) knows this edge by. Default: `to`. */
  readonly label?: string;
  readonly weight?: number;
  /** Fires however its source settled, failed and skipped included (G3). */
  readonly always?: boolean;
  /** Where it was written, for messages: `file:line`. */
  readonly place?: string;
}

export type Join = 'some' | 'all' | { readonly first: number; readonly cancelRest?: boolean };
export type OnBudget = 'ask' | 'fail';
export type OnFailure = 'fail-run' | 'skip-dependents' | 'continue';
export type NodeCheckpoint = 'before' | 'after' | 'both' | 'none';

export interface NodeDefinition {
  readonly id: string;
  /** Name of the node type: `function`, `shell`, `human`, … */
  readonly type: string;
  /** The author's version of the code; part of the graph's hash. Default `1`. */
  readonly version?: string;
  /** Plain data, hashed. */
  readonly config?: unknown;
  readonly effect: EffectClass;
  /** Channels the node reads (`scratch.messages`, `outputs.draft`, `input.topic`); default: those its view records. */
  readonly reads?: readonly string[];
  readonly when?: Condition;
  readonly join?: Join;
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
  readonly onFailure?: OnFailure;
  readonly checkpoint?: NodeCheckpoint;
  readonly idempotent?: boolean;
  /** What becomes of an effect in doubt that nothing else decides: a question (default), or a failure of the node (EFFECT_IN_DOUBT). */
  readonly onInDoubt?: 'ask' | 'fail';
  /** What each visit may spend, by unit. Default: no bound but the run's. */
  readonly budget?: Amounts;
  /** What becomes of an attempt that would begin when the budget is spent: a question (default), or a failure (BUDGET_EXCEEDED). */
  readonly onBudget?: OnBudget;
  /** The most that one attempt spends: reserved before it begins, so that the budget is never passed. */
  readonly atMost?: AtMost;
  readonly maxVisits?: number;
  /** Name under which the output is seen in `state.artifacts`. */
  readonly outputAs?: string;
  /** Child graph of a subgraph or map node; part of the hash. */
  readonly subgraph?: Graph;
  readonly implementation: NodeImplementation;
  readonly place?: string;
}

/** A reducer: a name, or a pure function with a version. Names: see docs/spec/state.md. */
export type ReducerName = 'last' | 'first' | 'append' | 'merge' | 'union' | 'sum' | 'min' | 'max' | 'avg' | 'longest';
export type CustomReducer = (current: unknown, update: unknown) => unknown;
export type Reducer =
  ReducerName | { readonly name: string; readonly version?: string; readonly reduce: CustomReducer };

/** The part of Standard Schema v1 that Cairn uses; Zod 4, Valibot and ArkType have it. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
  };
}
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

export interface GraphSchemas {
  readonly input?: StandardSchema;
  readonly scratch?: StandardSchema;
  readonly artifacts?: StandardSchema;
}

export type CheckpointPolicy = 'every_node' | 'explicit' | 'none';

export interface GraphPolicies {
  /** `all`: every edge whose condition holds fires; `first`: at most one, the first in order of weight (higher first) then declaration (G5). Default `all`. */
  readonly routing: 'all' | 'first';
  /** Default `every_node`. */
  readonly checkpoint: CheckpointPolicy;
  /** Activations (and map items) that run at once. Default 64. */
  readonly concurrency: number;
  /** Bound of visits of each node, per frame. Default 1,000. */
  readonly maxVisits: number;
  /** See E4. Default `barrier`. */
  readonly durability: 'barrier' | 'exit';
  /** The most that one outcome may add to a run, encoded, blobs included; more is CHECKPOINT_TOO_LARGE. Default: no limit of the graph's own. */
  readonly checkpointBytes?: number;
  /** What a run may spend, by unit; a start may say otherwise, and a resume raises it. Default: as much as it wants. */
  readonly budget?: Amounts;
  /** What becomes of an attempt that would begin when the budget is spent: a question (default), or a failure (BUDGET_EXCEEDED). */
  readonly onBudget?: OnBudget;
}

/** What {@link compileGraph} takes. */
export interface GraphDefinition {
  readonly id: string;
  readonly nodes: readonly NodeDefinition[];
  /** Edges from START name the entry nodes. */
  readonly edges: readonly EdgeDefinition[];
  /** Reducers by dotted path: `scratch.messages`, `artifacts.stats.count`. */
  readonly reducers?: Readonly<Record<string, Reducer>>;
  readonly schemas?: GraphSchemas;
  readonly policies?: Partial<GraphPolicies>;
  /** The text that the graph was compiled from, if it can be compiled again from it alone: kept with each run (H3). Not hashed. */
  readonly text?: string;
}

/** A compiled edge. */
export interface GraphEdge {
  /** Position in `Graph.edges`. */
  readonly index: number;
  /** Names the edge among those of its source: the target's id, with `#2`, `#3` … for parallel edges. Kept in node records. */
  readonly key: string;
  readonly from: number;
  readonly to: number;
  readonly on: 'completed' | 'failed' | 'any';
  readonly condition: Condition | undefined;
  readonly choice: Choice | undefined;
  readonly label: string;
  readonly weight: number;
  readonly always: boolean;
  /** Index of the loop whose head this back edge leads to (G4). */
  readonly backOf: number | undefined;
  /** Index of the outermost loop that this edge leaves; it settles when that loop is done. */
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
  readonly maxVisits: number;
  readonly outputAs: string | undefined;
  readonly subgraph: Graph | undefined;
  readonly implementation: NodeImplementation;
  /** Hash of type, version, config and subgraph, as base64url: the definition's part of an activation's input hash. */
  readonly definitionHash: string;
  /** Indices of the loops the node is in, outermost first. */
  readonly loops: readonly number[];
  readonly outgoing: readonly GraphEdge[];
  readonly incoming: readonly GraphEdge[];
}

export interface Loop {
  readonly index: number;
  /** Stable name: the sorted ids of its heads, joined by `,`. */
  readonly id: string;
  readonly nodes: readonly number[];
  readonly heads: readonly number[];
  readonly parent: number | undefined;
  readonly children: readonly number[];
}

export interface Violation {
  /** Rule id, as in docs/spec/graph.md. */
  readonly rule: string;
  readonly severity: 'error' | 'warning';
  /** `file:line`, or the path of the node or edge. */
  readonly place: string;
  readonly message: string;
  readonly fix: string;
}

/** An immutable compiled workflow. `nodes[0]` is START, `nodes[1]` is END. */
export interface Graph {
  readonly id: string;
  /** Hash of all that is data; stable across processes and machines. */
  readonly hash: string;
  /** Hash of the functions' text; a hint only. */
  readonly codeHash: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly nodeIndex: ReadonlyMap<string, number>;
  readonly loops: readonly Loop[];
  readonly reducers: Readonly<Record<string, Reducer>>;
  readonly schemas: GraphSchemas;
  readonly policies: GraphPolicies;
  readonly warnings: readonly Violation[];
  /** See {@link GraphDefinition.text}. */
  readonly text: string | undefined;
  /** Everything hashed, as plain data: what is stored with a run and compared on resume (H3). */
  readonly structure: GraphStructure;
}

/** The data of a graph, as stored. */
export interface GraphStructure {
  readonly id: string;
  readonly nodes: readonly Readonly<Record<string, unknown>>[];
  readonly edges: readonly Readonly<Record<string, unknown>>[];
  readonly reducers: Readonly<Record<string, string>>;
  readonly schemas: Readonly<Record<string, unknown>>;
  readonly policies: GraphPolicies;
}
