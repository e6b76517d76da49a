/**
 * Makes a tool of an operation: its input from the fields, its output by the schema. Names are in snake case; a run and a checkpoint are
 * named as the first tools named them (`run_id`, `checkpoint_id`). Only what the schema declares is renamed: keys of a run's own values are
 * the run's.
 *
 * A model is told some things otherwise than other callers, here and nowhere else: times as seconds since 1970 with ISO text beside them;
 * a position in a history as the text that names it; a question with who may answer it, and how; no whole state, which may be large.
 */
import { isAnswerable, type OpenQuestion } from '../../operations/waits/find-wait.ts';
import { fieldSchema } from '../../operations/contract/field-schema.ts';
import type { AnyOperation, Field, Next, WorkContext } from '../../operations/contract/operation.ts';
import { perform } from '../../operations/contract/perform.ts';
import { toJson } from '../../operations/contract/to-json.ts';
import { omitLargeValues } from '../../operations/runs/omit-large.ts';
import { questionSchema, showQuestion, type JsonSchema } from '../ask/ask-client.ts';
import type { AnyTool } from './tool.ts';

interface Shape extends JsonSchema {
  readonly description?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
  readonly additionalProperties?: boolean | Shape;
  readonly required?: readonly string[];
}

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Fields that name a run or a checkpoint by nothing but its kind have `_id` behind it. */
const argumentName = (name: string, { type }: Field): string =>
  name === type && (type === 'run' || type === 'checkpoint') ? `${name}_id` : snakeCase(name);

const sentence = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;

/** The fields that a model may give, by the names of arguments. */
function argumentsOf({ input }: AnyOperation): Readonly<Record<string, readonly [name: string, field: Field]>> {
  const offered = Object.entries(input).filter(([, field]) => !field.isLocal && !field.isActor && !field.isForEyes);
  return Object.fromEntries(offered.map(([name, field]) => [argumentName(name, field), [name, field]]));
}

const isRecord = ({ additionalProperties }: Shape): boolean => typeof additionalProperties === 'object';

const waitSchema: JsonSchema = {
  ...questionSchema,
  properties: {
    ...(questionSchema['properties'] as object),
    run_id: { type: 'string', description: 'Id of the run.' },
    graph_id: { type: 'string', description: 'Name of the workflow.' },
    name: { type: 'string', description: 'Of what is no question: what is waited for.' },
  },
  required: ['wait', 'run_id'],
};

/** The properties of an object that a model is told. */
const toldParts = (properties: Readonly<Record<string, Shape>>): readonly (readonly [string, Shape])[] =>
  Object.entries(properties).filter(([, { format }]) => format !== 'state');

function describedAs(schema: JsonSchema, { description }: Shape): JsonSchema {
  return description === undefined ? schema : { ...schema, description: sentence(description) };
}

/** The schema of what {@link tell} makes of a value of this one. */
function toldSchema(shape: Shape): JsonSchema {
  const { format, properties, items, additionalProperties, required = [] } = shape;
  if (format === 'wait') return describedAs(waitSchema, shape);
  if (format === 'position') return describedAs({ type: 'string' }, shape);
  if (items !== undefined) return describedAs({ type: 'array', items: toldSchema(items) }, shape);
  if (isRecord(shape))
    return describedAs({ type: 'object', additionalProperties: toldSchema(additionalProperties as Shape) }, shape);
  if (properties === undefined) {
    const { format: _format, ...plain } = shape;
    return describedAs(plain, shape);
  }
  const parts = toldParts(properties).flatMap(([name, part]): [string, JsonSchema][] => {
    const own = snakeCase(name);
    if (part.format !== 'epoch-ms') return [[own, toldSchema(part)]];
    const { description = 'the time' } = part;
    return [
      [own, { type: 'number', description: sentence(`${description}, in seconds since 1970`) }],
      [`${own}_iso`, { type: 'string', description: sentence(`${description}, as ISO text`) }],
    ];
  });
  const needed = toldParts(properties).filter(([name]) => required.includes(name));
  return describedAs(
    { type: 'object', properties: Object.fromEntries(parts), required: needed.map(([name]) => snakeCase(name)) },
    shape,
  );
}

function tellWait(context: WorkContext, wait: OpenQuestion): unknown {
  const { runId, graphId, waitId, kind, name, dueAt } = wait;
  const run = { run_id: runId, graph_id: graphId };
  if (isAnswerable(wait)) return { ...run, ...showQuestion(wait, context) };
  const due = dueAt === undefined ? {} : { due_at: new Date(dueAt).toISOString() };
  return {
    ...run,
    wait: waitId,
    block: wait.node.join('/'),
    kind,
    name,
    prompt: '',
    message: 'It takes no answer',
    ...due,
  };
}

/** A value of an output as a model is told it. */
function tell(context: WorkContext, value: unknown, shape: Shape): unknown {
  const { format, properties, items, additionalProperties } = shape;
  if (value === undefined || value === null) return value;
  if (format === 'wait') return tellWait(context, value as OpenQuestion);
  if (format === 'position') {
    const { runId, seq } = value as { readonly runId: string; readonly seq: number };
    return `${runId}@${seq}`;
  }
  if (items !== undefined) return (value as readonly unknown[]).map((item) => tell(context, item, items));
  const parts = (value instanceof Error ? toJson(value) : value) as Readonly<Record<string, unknown>>;
  if (isRecord(shape))
    return Object.fromEntries(
      Object.entries(parts).map(([name, part]) => [name, tell(context, part, additionalProperties as Shape)]),
    );
  if (properties === undefined) return toJson(value);
  const told = toldParts(properties).flatMap(([name, part]): [string, unknown][] => {
    const own = Object.hasOwn(parts, name) ? parts[name] : undefined;
    if (own === undefined) return [];
    if (part.format !== 'epoch-ms') return [[snakeCase(name), tell(context, own, part)]];
    return [
      [snakeCase(name), (own as number) / 1000],
      [`${snakeCase(name)}_iso`, new Date(own as number).toISOString()],
    ];
  });
  return Object.fromEntries(told);
}

/** A part of what an operation gave, as a model is told it. */
export function tellPart(
  context: WorkContext,
  part: unknown,
  { outputSchema }: Pick<AnyOperation, 'outputSchema'>,
  name: string,
): unknown {
  const { properties = {} } = outputSchema as Shape;
  return tell(context, part, properties[name] ?? {});
}

/** What a model gives, as the operation takes it. */
export function inputOf(operation: AnyOperation, given: object): Readonly<Record<string, unknown>> {
  const known = argumentsOf(operation);
  const defaults = Object.values(known).flatMap(([name, { modelDefault }]) =>
    modelDefault === undefined ? [] : [[name, modelDefault] as const],
  );
  const own = Object.entries(given).map(([name, value]) => [known[name]?.[0] ?? name, value] as const);
  return Object.fromEntries([...defaults, ...own]);
}

const nextSchema: JsonSchema = {
  type: 'array',
  items: { type: 'string' },
  description: 'What may follow: a tool, its arguments, and why.',
};

/** Tools written by hand, by the operations they are of: the tool, and its argument for the run. Other tools are named as their operations. */
type ByHand = Readonly<Record<string, { readonly name: string; readonly run: string }>>;

export function toolOf(operation: AnyOperation, byHand: ByHand = {}): AnyTool {
  const { name, summary, details, outputSchema, isReadOnly, tool: hints = {} } = operation;
  const known = argumentsOf(operation);
  const output = toldSchema(outputSchema);
  const [verb = '', ...noun] = name.split('_');
  const tellNext = ({ operation: other, input, why }: Next): string => {
    const { name: called = other, run = 'run_id' } = byHand[other] ?? {};
    return `${called} ${JSON.stringify({ [run]: input.run })}: ${why}`;
  };
  return {
    name,
    title: [`${verb[0]?.toUpperCase()}${verb.slice(1)}`, ...noun].join(' '),
    description: [sentence(summary), details].filter(Boolean).join(' '),
    input: Object.fromEntries(
      Object.entries(known).map(([argument, [, field]]) => {
        const { modelDefault = field.default, description } = field;
        const said = { ...field, description: sentence(description) };
        return [argument, fieldSchema(modelDefault === undefined ? said : { ...said, default: modelDefault })];
      }),
    ),
    required: Object.entries(known).flatMap(([argument, [, { isRequired }]]) =>
      isRequired === true ? [argument] : [],
    ),
    output:
      operation.next === undefined
        ? output
        : { ...output, properties: { ...(output['properties'] as object), next: nextSchema } },
    hints: {
      isReadOnly,
      isDestructive: hints.isDestructive ?? false,
      isIdempotent: hints.isIdempotent ?? isReadOnly,
      isOpenWorld: false,
    },
    async run({ context }, given) {
      const done = await perform(operation, context, inputOf(operation, given));
      const follows = operation.next?.(done) ?? [];
      const content = tell(context, omitLargeValues(done, outputSchema), outputSchema) as Readonly<
        Record<string, unknown>
      >;
      return { content: follows.length === 0 ? content : { ...content, next: follows.map(tellNext) } };
    },
  };
}
