/** Whether what a node's function returns fits the graph's channels: the type checker says so where the node is added. */
import type { GraphSchemas, Reducer } from '../../graph/graph.ts';
import type { Outcome } from '../../graph/contracts/node-contract.ts';
import type { SchemaOutput } from './typed-state.ts';

/** Reducers by dotted path, with the type of each. */
export type Reducers = Readonly<Record<string, Reducer>>;

type Primitive = string | number | bigint | boolean | symbol | null | undefined;

/** A value as an update may give it: nothing in it is changed, so it may be readonly. */
type Frozen<Value> = Value extends Primitive
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly Frozen<Item>[]
    : Value extends object
      ? { readonly [Key in keyof Value]: Frozen<Value[Key]> }
      : Value;

/** What a reducer of a list or an object takes: an item of it, a part of it, or the whole. */
type PartOf<Value> = Value extends Primitive
  ? Value
  : Value extends readonly (infer Item)[]
    ? readonly Frozen<Item>[] | Frozen<Item>
    : Value extends object
      ? { readonly [Key in keyof Value]?: PartOf<Value[Key]> }
      : Value;

/** A reducer of the author's own takes what it likes. */
type UpdateOf<Value, Given> = unknown extends Value
  ? unknown
  : [Given] extends [never]
    ? Frozen<Value>
    : Given extends string
      ? PartOf<Value>
      : unknown;

/** The reducer of a channel, or of a place in it. */
type ReducerOf<Given, Channel extends string> = Given[keyof Given & (Channel | `${Channel}.${string}`)];

type Updates<Given, Channels, Name extends string, Reduced> = {
  readonly [Key in keyof Given]: Key extends keyof Channels
    ? UpdateOf<Channels[Key], ReducerOf<Reduced, `${Name}.${Key & string}`>>
    : never;
};

type Channels<Schema> = SchemaOutput<Schema, Readonly<Record<string, unknown>>>;

/** `Result` itself where it fits, else what it would have to be. */
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
