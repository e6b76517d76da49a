/**
 * Types that check whether the return value of a node's function fits the graph's channels, so that a mismatch is a type error where the
 * node is added.
 */
import type { GraphSchemas, Reducer } from '../../graph/graph.ts';
import type { Outcome } from '../../graph/contracts/node-contract.ts';
import type { SchemaOutput } from './typed-state.ts';

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
type UpdateOf<Value, Given> = unknown extends Value
  ? unknown
  : [Given] extends [never]
    ? Frozen<Value>
    : Given extends string
      ? PartOf<Value>
      : unknown;

/** The reducer of a channel, or of a path inside it. */
type ReducerOf<Given, Channel extends string> = Given[keyof Given & (Channel | `${Channel}.${string}`)];

type Updates<Given, Channels, Name extends string, Reduced> = {
  readonly [Key in keyof Given]: Key extends keyof Channels
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
