/** Makes a frame before its first node runs: with the validated input and the defaults of the state's schemas (C1). */
import { CairnError } from '../../errors.ts';
import type { Graph, StandardResult, StandardSchema } from '../../graph/graph.ts';
import { partitions } from '../../graph/contracts/node-contract.ts';
import { pointerTo } from '../../schema/json-pointer.ts';
import { type Intake, admitValue, type CodecLimits } from '../../state/values/admit.ts';
import type { FrameTree } from '../../state/tree.ts';

/** Where there is no input, and the schema does not take that, the input is an empty object. @throws INPUT_INVALID; VALUE_UNSTORABLE */
export function newFrame(
  graph: Graph,
  input: unknown,
  bounds: CodecLimits,
  intake: Intake | undefined,
): FrameTree | Promise<FrameTree> {
  const schema = graph.schemas.input;
  if (schema === undefined) return frameOf(graph, input, bounds, intake);
  const result = validated(schema['~standard'], input);
  if (result instanceof Promise) return result.then((checked) => frameOf(graph, accepted(checked), bounds, intake));
  return frameOf(graph, accepted(result), bounds, intake);
}

type Checked = StandardResult<unknown>;

function validated(schema: StandardSchema['~standard'], input: unknown): Checked | Promise<Checked> {
  const orEmpty = (checked: Checked): Checked | Promise<Checked> =>
    checked.issues === undefined || input !== undefined ? checked : schema.validate({});
  const result = schema.validate(input);
  return result instanceof Promise ? result.then(orEmpty) : orEmpty(result);
}

/**
 * Checks a fork's patch of the input. It must fit the schema if the input before it did. If the schema has transformed that, the patch is
 * not checked, because a schema need not accept its own output.
 */
export async function checkPatchedInput({ schemas }: Graph, before: unknown, after: unknown): Promise<void> {
  const schema = schemas.input?.['~standard'];
  if (schema === undefined || (await schema.validate(before)).issues !== undefined) return;
  accepted(await schema.validate(after));
}

function accepted(result: StandardResult<unknown>): unknown {
  if (result.issues === undefined) return result.value;
  const faults = result.issues.map(({ message, path = [] }) => ({
    message,
    path: path.map((key) => String(typeof key === 'object' ? key.key : key)),
  }));
  const reason = faults.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`));
  throw new CairnError('INPUT_INVALID', {
    reason: reason.join('; '),
    faults: faults.map(({ path, message }) => ({ pointer: pointerTo(path), message })),
  });
}

function frameOf(graph: Graph, input: unknown, bounds: CodecLimits, intake: Intake | undefined): FrameTree {
  const schemas: Readonly<Record<string, StandardSchema | undefined>> = { ...graph.schemas };
  const channels: Record<string, Record<string, unknown>> = {};
  for (const partition of partitions) channels[partition] = defaultsOf(schemas[partition], partition, bounds, intake);
  return { input: admitValue(input, ['input'], bounds, intake).value, channels, nodes: {} };
}

type ObjectSchema = StandardSchema & { readonly shape?: Readonly<Record<string, StandardSchema>> };

/** The defaults in a partition's schema. Keys without a default stay absent until a node writes them. */
function defaultsOf(
  schema: StandardSchema | undefined,
  partition: string,
  bounds: CodecLimits,
  intake: Intake | undefined,
): Record<string, unknown> {
  if (schema === undefined) return {};
  const { shape } = schema as ObjectSchema;
  if (shape === undefined) {
    return { ...(plainCopy(schema, {}, partition, bounds, intake) as Record<string, unknown> | undefined) };
  }
  const values: [string, unknown][] = [];
  for (const [key, channel] of Object.entries(shape)) {
    const value = plainCopy(channel, undefined, `${partition}.${key}`, bounds, intake);
    if (value !== undefined) values.push([key, value]);
  }
  return Object.fromEntries(values);
}

function plainCopy(
  schema: StandardSchema,
  value: unknown,
  path: string,
  bounds: CodecLimits,
  intake: Intake | undefined,
): unknown {
  const result = schema['~standard'].validate(value);
  if (result instanceof Promise || result.issues !== undefined) return undefined;
  return admitValue(result.value, path.split('.'), bounds, intake).value;
}
