/** JSON Schemas without their defaults, which may be others each time a schema is made: as a new id is, or a time. */

/** Keywords whose object maps names to schemas, and those that hold values and no schemas. */
const mapKeywords: readonly string[] = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const valueKeywords: readonly string[] = ['const', 'enum', 'examples'];

export function withoutDefaults(schema: unknown): unknown {
  return clean(schema, false);
}

/** @param isMap - whether the keys are names and not keywords: a property may be called `default` */
function clean(schema: unknown, isMap: boolean): unknown {
  if (Array.isArray(schema)) return schema.map((item: unknown) => clean(item, false));
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).filter(([key]) => isMap || key !== 'default');
  return Object.fromEntries(
    entries.map(([key, value]: [string, unknown]) => [
      key,
      !isMap && valueKeywords.includes(key) ? value : clean(value, !isMap && mapKeywords.includes(key)),
    ]),
  );
}
