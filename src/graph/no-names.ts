/** An object type with no known keys, to which keys are added. */

// The type `object` would not do: it cannot be combined with types that have an index signature.
// oxlint-disable-next-line typescript/no-generated-empty-object-type
export type NoNames = Readonly<Record<never, never>>;
