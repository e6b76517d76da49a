/** Schemas, and types of answers: one of the question's choices, or a value that fits its schema. */

/** The part of Standard Schema v1 that Cairn uses. Zod 4, Valibot and ArkType implement it. */
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

type Entry<T, Key extends string> = T extends { readonly [K in Key]: infer Value } ? Value : never;

type RequiredOf<Schema> = Schema extends { readonly required: readonly (infer Key)[] } ? Key : never;

/** The type of an object schema. Properties listed in `required` are required, all others optional. */
type ObjectValue<Schema> = Schema extends { readonly properties: infer Properties }
  ? {
      readonly [Key in keyof Properties as Key extends RequiredOf<Schema> ? Key : never]: SchemaValue<Properties[Key]>;
    } & {
      readonly [Key in keyof Properties as Key extends RequiredOf<Schema> ? never : Key]?: SchemaValue<Properties[Key]>;
    }
  : Readonly<Record<string, unknown>>;

interface ValueOfType<Schema> {
  readonly string: string;
  readonly number: number;
  readonly integer: number;
  readonly boolean: boolean;
  readonly null: null;
  readonly array: readonly SchemaValue<Entry<Schema, 'items'>>[];
  readonly object: ObjectValue<Schema>;
}
type TypedValue<Schema, Name> = Name extends readonly (infer One)[]
  ? TypedValue<Schema, One>
  : Name extends keyof ValueOfType<Schema>
    ? ValueOfType<Schema>[Name]
    : unknown;

/** A Standard Schema, such as Zod's, as far as the type of an answer follows from it. */
export interface TypedSchema {
  readonly '~standard': { readonly types?: { readonly input: unknown; readonly output: unknown } | undefined };
}

/** What an answer must fit: JSON Schema, or a Standard Schema that can produce its JSON Schema (Zod 4.2 and later). */
export type AnswerSchema = Readonly<Record<string, unknown>> | TypedSchema;

/** The values that a Standard Schema takes. An answer is recorded as it came, so it has this type, and not that of parsed values. */
type TakenBy<Schema extends TypedSchema> = NonNullable<Schema['~standard']['types']>['input'];

/** The type of the values that fit a schema: of JSON Schema as far as its literal type tells; otherwise unknown. */
export type SchemaValue<Schema> = [Schema] extends [never]
  ? unknown
  : Schema extends TypedSchema
    ? TakenBy<Schema>
    : Schema extends { readonly const: infer Value }
      ? Value
      : Schema extends { readonly enum: readonly (infer Value)[] }
        ? Value
        : Schema extends { readonly anyOf: readonly (infer One)[] } | { readonly oneOf: readonly (infer One)[] }
          ? SchemaValue<One>
          : Schema extends { readonly type: infer Name }
            ? TypedValue<Schema, Name>
            : unknown;

/** The type of the value of one of the choices. */
export type ChoiceValue<Offered> = Offered extends readonly (infer Choice)[]
  ? Choice extends { readonly value: infer Value }
    ? Value
    : Choice
  : never;

/**
 * The type of the answer to a question: one of its choices (unless they are only suggestions), or a value that fits its schema; or the
 * default answer, which is used when the deadline passes.
 */
export type AnswerTo<Q> =
  | (Q extends { readonly matching: 'open' }
      ? SchemaValue<Entry<Q, 'schema'>>
      : Q extends { readonly choices: infer Offered }
        ? ChoiceValue<Offered>
        : SchemaValue<Entry<Q, 'schema'>>)
  | Entry<Q, 'defaultAnswer'>;
