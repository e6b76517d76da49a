/** What schemas and node names make known of a graph's state to the type checker. Nothing here exists at run time. */
import type { ConditionScope, GraphSchemas, StandardSchema } from '../../graph/graph.ts';
import type { NodeContext, Outcome, StateView } from '../../graph/contracts/node-contract.ts';

/** What a schema yields; `Otherwise` where there is no schema, or nothing is known of it. */
export type SchemaOutput<Schema, Otherwise> =
  Schema extends StandardSchema<infer Output> ? (unknown extends Output ? Otherwise : Output) : Otherwise;

/** What a schema takes, before defaults and transforms; `unknown` where there is no schema. */
export type SchemaInput<Schema> = Schema extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly input: infer Input }
    ? Input
    : unknown
  : unknown;

type Keyed = Readonly<Record<string, unknown>>;

/** The outputs by node id, of the nodes added so far. A node that has not completed has none. */
export type TypedOutputs<Nodes> = Readonly<Partial<Nodes>>;

/** A graph's state: channels that no node has written yet are absent, so every channel may be undefined. */
export interface TypedState<Schemas extends GraphSchemas, Nodes> extends Omit<
  StateView,
  'input' | 'scratch' | 'artifacts' | 'outputs'
> {
  readonly input: SchemaOutput<Schemas['input'], unknown>;
  readonly scratch: Readonly<Partial<SchemaOutput<Schemas['scratch'], Keyed>>>;
  readonly artifacts: Readonly<Partial<SchemaOutput<Schemas['artifacts'], Keyed>>>;
  readonly outputs: TypedOutputs<Nodes>;
}

/** What a node's function is handed: the node contract, with this graph's input and state. */
export interface TypedContext<State extends { readonly input: unknown }> extends Omit<NodeContext, 'input' | 'state'> {
  readonly input: State['input'];
  readonly state: State;
}

/** A node written as a plain function. It returns an output, or `outcome(...)`. */
export type NodeFunction<State extends { readonly input: unknown }, Result = unknown> = (
  ctx: TypedContext<State>,
) => Result;

/** The output recorded for a function that returned `Result`. */
export type OutputOf<Result> = OutputOfEnd<Awaited<Result>>;
type OutputOfEnd<End> = End extends Outcome<infer Output> ? Output : End;

/**
 * Answers by the id of the node that asks; also by a wait's id, and by path: `node/question`, or `outer/inner` of a child's node.
 * `budget`: what is asked when one is spent.
 */
export type TypedAnswers<Asked> = Readonly<Partial<Asked>> & {
  readonly [Wait in `w_${string}` | `${string}/${string}` | 'budget']?: unknown;
};

/** How the activation before an edge settled. */
export type SettledOutcome = ConditionScope['outcome'];
