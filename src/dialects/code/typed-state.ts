/** Types derived from a graph's schemas and node names. Nothing here exists at run time. */
import type { ConditionScope, GraphSchemas, StandardSchema, Reducer } from '../../graph/graph.ts';
import type { NodeContext, Outcome, StateView } from '../../graph/contracts/node-contract.ts';

/** What a schema yields, or `Otherwise` if there is no schema or its type is unknown. */
export type SchemaOutput<Schema, Otherwise> =
  Schema extends StandardSchema<infer Output> ? (unknown extends Output ? Otherwise : Output) : Otherwise;

/** What a schema accepts, before defaults and transforms, or `unknown` if there is no schema. */
export type SchemaInput<Schema> = Schema extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly input: infer Input }
    ? Input
    : unknown
  : unknown;

type Keyed = Readonly<Record<string, unknown>>;

/** Outputs of the nodes added so far, by node id. A node that has not completed has no output. */
export type TypedOutputs<Nodes> = Readonly<Partial<Nodes>>;

/** Names of channels that are there from the start: those to which the schema gives a default. */
type WithDefault<Output, Input> = {
  readonly [Key in keyof Output & keyof Input]: undefined extends Output[Key]
    ? never
    : undefined extends Input[Key]
      ? Key
      : never;
}[keyof Output & keyof Input];

/** The channels of a schema: those with a default are there, the others once a node has written them. */
type ChannelsOf<Schema, Output = SchemaOutput<Schema, Keyed>> = Readonly<Partial<Output>> &
  (unknown extends SchemaInput<Schema> ? unknown : Readonly<Pick<Output, WithDefault<Output, SchemaInput<Schema>>>>);

/** A graph's state. A channel without a default that no node has written yet is absent, so it may be undefined. */
export interface TypedState<Schemas extends GraphSchemas, Nodes> extends Omit<
  StateView,
  'input' | 'scratch' | 'artifacts' | 'outputs'
> {
  readonly input: SchemaOutput<Schemas['input'], unknown>;
  readonly scratch: ChannelsOf<Schemas['scratch']>;
  readonly artifacts: ChannelsOf<Schemas['artifacts']>;
  readonly outputs: TypedOutputs<Nodes>;
}

/** The context passed to a node's function: the node contract with this graph's types of input and state. */
export interface TypedContext<State extends { readonly input: unknown }> extends Omit<NodeContext, 'input' | 'state'> {
  readonly input: State['input'];
  readonly state: State;
}

/** A node written as a plain function. It returns an output, or `outcome(...)`. */
export type NodeFunction<State extends { readonly input: unknown }, Result = unknown> = (
  ctx: TypedContext<State>,
) => Result;

/** The type of the output that is recorded for a function returning `Result`. */
export type OutputOf<Result> = OutputOfEnd<Awaited<Result>>;
type OutputOfEnd<End> = End extends Outcome<infer Output> ? Output : End;

/**
 * Answers by the id of the node that asks. Other keys: a wait's id, a path (`node/question`, or `outer/inner` for a node of a child run),
 * and `budget` for the question that is asked when a budget is spent.
 */
export type TypedAnswers<Answers> = Readonly<Partial<Answers>> & {
  readonly [Wait in `w_${string}` | `${string}/${string}` | `${string}?` | 'budget']?: unknown;
};

/** How the node before an edge settled. */
export type SettledOutcome = ConditionScope['outcome'];

// Types that check whether the return value of a node's function fits the graph's channels, so that a mismatch is a type error where the
// node is added.

/** Reducers by dotted path of their channel. */
export type Reducers = Readonly<Record<string, Reducer>>;

type Primitive = string | number | bigint | boolean | symbol | null | undefined;

/** The type of a value in an update. Updates are never changed in place, so readonly values are accepted. */
type Frozen<Value> = Value extends Primitive
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly Frozen<Item>[]
    : Value extends object
      ? { readonly [Key in keyof Value]: Frozen<Value[Key]> }
      : Value;

/** What a built-in reducer of a list or an object accepts: one item, a part, or the whole value. */
type PartOf<Value> = Value extends Primitive
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly Frozen<Item>[] | Frozen<Item>
    : Value extends object
      ? { readonly [Key in keyof Value]?: PartOf<Value[Key]> }
      : Value;

/**
 * What an update of a channel may hold: the channel's own type without a reducer, a part of it for a built-in reducer, anything for a
 * custom one.
 */
type UpdateOf<Value, ReducerName> = unknown extends Value
  ? unknown
  : [ReducerName] extends [never]
    ? Frozen<Value>
    : ReducerName extends string
      ? PartOf<Value>
      : unknown;

/** The reducer of a channel, or of a path inside it. */
type ReducerOf<Table, Channel extends string> = Table[keyof Table & (Channel | `${Channel}.${string}`)];

type Updates<Values, Channels, Name extends string, Reduced> = {
  readonly [Key in keyof Values]: Key extends keyof Channels
    ? UpdateOf<Channels[Key], ReducerOf<Reduced, `${Name}.${Key & string}`>>
    : never;
};

type Channels<Schema> = SchemaOutput<Schema, Readonly<Record<string, unknown>>>;

/** `Result` itself if it fits the channels; otherwise the type that it would need to have. */
export type Fits<Result, Schemas extends GraphSchemas, Reduced> =
  Result extends Outcome<infer Output, infer Scratch, infer Artifacts>
    ? Outcome<
        Output,
        Updates<Scratch, Channels<Schemas['scratch']>, 'scratch', Reduced>,
        Updates<Artifacts, Channels<Schemas['artifacts']>, 'artifacts', Reduced>
      >
    : Result extends Promise<infer End>
      ? Promise<Fits<End, Schemas, Reduced>>
      : Result;
