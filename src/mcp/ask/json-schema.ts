/** A JSON Schema as the protocol carries it: plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;
