/**
 * Performs operations for every interface, and masks secrets in what is shown, so that all interfaces mask alike and no new operation can
 * forget it.
 *
 * Keys declared in an operation's output schema are ours and shown as they are. Everything inside that is not declared comes from runs;
 * there, values under names of secrets are masked.
 */
import type { JsonSchema } from '../../graph/contracts/node-type.ts';
import { boundReading, type ReadBounds } from '../../history/stored/pace.ts';
import { mapParts, shown, shownError, shownPart, shownUnder } from '../../state/secrecy/shown-text.ts';
import { isPlainObject } from '../../state/values/plain-object.ts';
import { CairnError } from '../../errors.ts';
import { pointerTo, type Fault } from '../../schema/json-pointer.ts';
import type { Field, Fields, FieldType, Operation, WatchedEvent } from './operation.ts';

export { shownError };

/** The part of a context that says who acts, and reports events during the operation. */
interface Acting {
  readonly actor?: string;
  /** What an operation that only reads may take. Default: as much as it needs. */
  readonly reading?: ReadBounds;
  readonly watch?: (event: WatchedEvent) => void;
}

/** The part of an operation that is needed to perform it. */
type Performed<Input, Output, Context> = Pick<
  Operation<Input, Output, Context>,
  'input' | 'outputSchema' | 'isReadOnly' | 'run'
>;

/**
 * Performs an operation. Who acts is filled in from the context, whatever the input says. Its output, events and errors are masked for
 * showing.
 * @throws USAGE_INVALID a field has no value of its type; the errors of the operation
 */
export async function perform<Input, Output, Context extends object>(
  operation: Performed<Input, Output, Context>,
  context: Context,
  input: Input,
): Promise<Output> {
  checkInput(operation.input, input);
  const { actor, reading, watch } = context as Acting;
  const signed = actor === undefined ? input : signedBy(actor, operation.input, input);
  const watched =
    watch === undefined ? context : { ...context, watch: (event: WatchedEvent) => watch(shown(event) as WatchedEvent) };
  try {
    const run = (): Promise<Output> => operation.run(watched, signed);
    const output = await (reading === undefined || !operation.isReadOnly ? run() : boundReading(reading, run));
    return maskedBySchema(output, operation.outputSchema) as Output;
  } catch (error) {
    throw error instanceof Error ? placedIn(operation.input, shownError(error)) : error;
  }
}

function signedBy<Input>(actor: string, fields: Fields, input: Input): Input {
  const own = Object.entries(fields).flatMap(([name, { isActor }]) => (isActor === true ? [[name, actor]] : []));
  return { ...input, ...(Object.fromEntries(own) as Partial<Input>) };
}

const isObject = (value: unknown): boolean => isPlainObject(value);
const isText = (value: unknown): boolean => typeof value === 'string';
const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

/** What a value of each type is, and in words what it has to be. */
const fieldChecks: Readonly<Record<FieldType, readonly [(value: unknown) => boolean, string]>> = {
  text: [isText, 'a text'],
  run: [isText, 'a text'],
  checkpoint: [isText, 'a text'],
  time: [isText, 'a text'],
  integer: [(value) => Number.isSafeInteger(value) && (value as number) >= 0, 'a whole number, 0 or more'],
  flag: [(value) => typeof value === 'boolean', 'true or false'],
  value: [() => true, 'a value'],
  texts: [areTexts, 'a list of texts'],
  words: [areTexts, 'a list of texts'],
  assignments: [isObject, 'an object of values by name'],
  answer: [() => true, 'an answer'],
  answers: [isObject, 'an object of values by name'],
};

/**
 * Holds what a caller gives against what an operation declares, for every door alike. Doors that take names from outside refuse unknown
 * ones themselves. @throws USAGE_INVALID
 */
export function checkInput(fields: Fields, input: unknown): void {
  const values = (input ?? {}) as Readonly<Record<string, unknown>>;
  const faults = Object.entries(fields).flatMap(([name, field]) => {
    const message = fieldFault(field, values[name]);
    return message === undefined ? [] : [{ name, remote: field.remoteName ?? name, message }];
  });
  if (faults.length === 0) return;
  const labelOf = ({ name, remote }: { readonly name: string; readonly remote: string }): string =>
    name === remote ? name : `${name} (${remote})`;
  throw new CairnError('USAGE_INVALID', {
    reason: faults.map((fault) => `${labelOf(fault)} ${fault.message}`).join('; '),
    faults: faults.map(({ remote, message }) => ({ pointer: pointerTo([remote]), message })),
  });
}

/** What is wrong with a value of a field; undefined if nothing is. */
function fieldFault({ type, isRequired, choices, min = 0 }: Field, value: unknown): string | undefined {
  if (value === undefined) return isRequired === true ? 'is missing' : undefined;
  const [isRight, words] = fieldChecks[type];
  if (!isRight(value)) return `is ${words}`;
  if (type === 'integer' && (value as number) < min) return `is ${min} or more`;
  const all = type === 'texts' ? (value as readonly string[]) : [value as string];
  const wrong = choices === undefined ? undefined : all.find((each) => !choices.includes(each));
  return wrong === undefined
    ? undefined
    : `is one of ${choices?.join(', ')}, not ${JSON.stringify(wrong.slice(0, 60))}`;
}

/** The field whose value the faults of an error are in. */
const faultyFields: Readonly<Record<string, string>> = { INPUT_INVALID: 'input', ANSWER_INVALID: 'value' };

/** An error with the faults of a value at their places in the input of the operation; without them where that is not known. */
function placedIn(fields: Fields, error: Error): Error {
  if (!CairnError.is(error, 'INPUT_INVALID', 'ANSWER_INVALID')) return error;
  const { faults, ...data } = error.data;
  const name = faultyFields[error.code] ?? '';
  const field = fields[name];
  if (!Array.isArray(faults)) return error;
  const base = pointerTo([field?.remoteName ?? name]);
  const placed = (faults as readonly Fault[]).map(({ pointer, message }) => ({ pointer: base + pointer, message }));
  return new CairnError(
    error.code,
    { ...data, ...(field !== undefined && { faults: placed }) },
    { cause: error.cause },
  );
}

/** An event of a run, masked for showing. */
export function maskedEvent<Event>(event: Event): Event {
  return shown(event) as Event;
}

/** A value with secrets masked. The schema tells which of its keys are ours. @param key - the key of ours under which it stands */
export function maskedBySchema(value: unknown, schema: JsonSchema, key = ''): unknown {
  // Text of an author is not a value of a run: for example, a schema with a property `password` contains no password.
  if (schema['format'] === 'definition') return value;
  if (schema['format'] === 'wait' && isNeverMasked(value)) return value;
  const { properties, items, additionalProperties } = schema as {
    readonly properties?: Readonly<Record<string, JsonSchema>>;
    readonly items?: JsonSchema;
    readonly additionalProperties?: boolean | JsonSchema;
  };
  if (Array.isArray(value) && items !== undefined) {
    const masked = value.map((item) => maskedBySchema(item, items));
    return masked.every((item, index) => Object.is(item, value[index])) ? value : masked;
  }
  if (!isPlainObject(value)) return shown(value);
  // A record of ours, by ids of nodes, units and the like.
  if (typeof additionalProperties === 'object')
    return mapParts(value, (_, part) => maskedBySchema(part, additionalProperties));
  if (properties === undefined) return shownPart(key, value);
  const declaredOf = (name: string): JsonSchema | undefined =>
    Object.hasOwn(properties, name) ? properties[name] : undefined;
  return mapParts(
    value,
    (name, part) => {
      const declared = declaredOf(name);
      return declared === undefined ? shownUnder(name, part) : maskedBySchema(part, declared, name);
    },
    (name) => declaredOf(name)?.['properties'] !== undefined,
  );
}

/**
 * Whether a wait asks about what a model wants to do, or about an effect in doubt. A model chooses the keys of its arguments, so their
 * names say nothing, and whoever approves them must see them. Secrets of the run are no part of it: they were masked when it was recorded.
 */
function isNeverMasked(value: unknown): boolean {
  return isPlainObject(value) && (value['isApproval'] === true || value['kind'] === 'doubt');
}
