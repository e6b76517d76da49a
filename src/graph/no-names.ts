/** An object type in which no name is known, and to which names are added. */

// `object` would not do: it takes no part in types with an index signature.
// oxlint-disable-next-line typescript/no-generated-empty-object-type
export type NoNames = Readonly<Record<never, never>>;
