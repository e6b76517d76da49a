/**
 * The one way from an operation to somebody who looks: every door performs operations through here, so that what is shown of a
 * run is masked alike everywhere, and a new operation cannot forget it.
 *
 * What an operation declares in its output schema is ours and is shown as it is; all within it that is not declared comes from
 * runs, and there what stands under the name of a secret is masked.
 */
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { mapParts, shown, shownError, shownUnder } from '../../state/secrecy/shown.ts';
import { isPlainObject } from '../../state/values/plain.ts';
import type { Operation, WatchedEvent } from './operation.ts';
import { definition } from './output-shapes.ts';

export { shownError };

/** The part of a context that shows what happens meanwhile. */
interface Watching {
  readonly watch?: (event: WatchedEvent) => void;
}

/** What of an operation is needed to do it; its fields are the doors' own matter. */
type Performed<Input, Output, Context> = Pick<Operation<Input, Output, Context>, 'outputSchema' | 'run'>;

/** Does an operation for a door: what it gives, what it tells meanwhile and what it throws are for showing. @throws what the operation throws */
export async function perform<Input, Output, Context extends object>(
  operation: Performed<Input, Output, Context>,
  context: Context,
  input: Input,
): Promise<Output> {
  const { watch } = context as Watching;
  const watched =
    watch === undefined ? context : { ...context, watch: (event: WatchedEvent) => watch(shown(event) as WatchedEvent) };
  try {
    return shownAs(await operation.run(watched, input), operation.outputSchema) as Output;
  } catch (error) {
    throw error instanceof Error ? shownError(error) : error;
  }
}

/** A value for showing, where its schema tells which of its keys are ours. */
export function shownAs(value: unknown, schema: JsonSchema): unknown {
  // What an author wrote is no value of a run: a schema with a property `password` holds none.
  if (schema === definition) return value;
  const { properties, items } = schema as {
    readonly properties?: Readonly<Record<string, JsonSchema>>;
    readonly items?: JsonSchema;
  };
  if (Array.isArray(value) && items !== undefined) {
    const masked = value.map((item) => shownAs(item, items));
    return masked.every((item, index) => Object.is(item, value[index])) ? value : masked;
  }
  if (!isPlainObject(value) || properties === undefined) return shown(value);
  return mapParts(value, (key, part) => {
    const declared = Object.hasOwn(properties, key) ? properties[key] : undefined;
    return declared === undefined ? shownUnder(key, part) : shownAs(part, declared);
  });
}
